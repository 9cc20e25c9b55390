import { PAUSED_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { present } from "#base/observed.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, type KubeObject, PERSISTENT_VOLUME_CLAIMS, type Ref, type Resource } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { Condition } from "#runtime/conditions.ts";
import { step } from "#runtime/decide.ts";
import type { PassTools } from "#runtime/pass.ts";
import { FOREIGN, FORMED, FORMING, LOST, SCALED } from "./leanings.ts";
import {
  earlierInPeer,
  leftOut,
  leftUnguarded,
  type Mutant,
  replacedInPeer,
  unguarded,
  without,
  withStep,
} from "./mutant.ts";
import { restless } from "./mutants-runtime.ts";
import type { Leaning } from "./profile.ts";

/** Every rule of the peer left out. */
const LEFT_OUT = leftOut("peer", [
  { name: "paused", leaning: { ...FORMED, often: { pause: 3, deleteReplicaSet: 3 } } },
  { name: "release-claim", leaning: SCALED },
  {
    name: "deleting",
    leaning: { ...FORMED, often: { deleteCluster: 4, createCluster: 3, deleteReplicaSet: 3 }, steps: 120 },
  },
  { name: "await-membership", leaning: SCALED },
  {
    name: "claim-taken",
    leaning: FOREIGN,
    covered: "claim-first holds the pod back; see the pair",
    promise: "claim first",
  },
  { name: "claim-disowned", leaning: FOREIGN, covered: "it only tells; claim-first holds a new pod back" },
  { name: "label-claim", leaning: { ...FORMED, often: { unlabelClaim: 4, deletePod: 3 } } },
  {
    name: "annotate-claim",
    leaning: FORMED,
    covered: "no member goes over to TLS in these histories; src/peer/plan.test.ts",
  },
  { name: "claim-lost", leaning: LOST, covered: "it only tells; create-claim makes no claim for who has joined" },
  { name: "create-claim", leaning: FORMING },
  {
    name: "replica-set-taken",
    leaning: FOREIGN,
    covered: "own-only forbids to change it; see the pair",
    promise: "foreign stays",
  },
  { name: "replica-set", leaning: FORMING },
  { name: "fence-pod", leaning: FORMING },
  { name: "note-revision", leaning: FORMED, covered: "only pods of an earlier release lack it; see the story" },
  {
    name: "await-member",
    leaning: { ...FORMED, often: { hideMember: 4, killContainer: 2 }, callFaults: { unsent: 0.2 } },
  },
  {
    name: "await-pod",
    leaning: FORMED,
    covered:
      "nothing but a second look depends on it: the pod's events wake the room, and the status looks at the pod itself",
  },
]);

const UNGUARDED = leftUnguarded("peer", [
  {
    name: "claim-first",
    leaning: LOST,
    covered: "create-claim and claim-taken are asked before; see the pairs",
    promise: "claim first",
  },
  {
    name: "never-twice",
    leaning: LOST,
    covered: "create-claim looks itself, and the flags follow the EtcdPeer; see the pairs",
    promise: "no empty claim",
  },
  {
    name: "asked-to-delete",
    leaning: LOST,
    covered: "release-claim looks itself; see the pairs",
    promise: "claims stay",
  },
  {
    name: "known-secrets",
    leaning: LOST,
    covered: "nobody but the operator writes EtcdPeers in this world; src/peer/guards.test.ts",
  },
  {
    name: "own-only",
    leaning: LOST,
    covered: "replica-set-taken is asked before; see the pairs",
    promise: "foreign stays",
  },
]);

/** The peer as it was before it was fenced. */
function unfenced(snapshot: PeerSnapshot): PeerSnapshot {
  const { peer } = snapshot;
  const { name } = peer.metadata;
  const bootstrap = {
    initialClusterState: "New" as const,
    clusterToken: peer.spec.clusterToken ?? "",
    static: { initialCluster: [{ name, host: `${name}.${peer.spec.clusterName}.${peer.metadata.namespace}.svc` }] },
  };
  return { ...snapshot, peer: { ...peer, spec: { bootstrap, ...peer.spec } } };
}

const PAIRS: readonly Mutant[] = [
  {
    name: "create-claim makes one whenever there is none + without peer guard never-twice",
    promise: "no empty claim",
    edits: [
      replacedInPeer("create-claim", (real, snapshot) => {
        if (snapshot.claim !== undefined) return real.decide(snapshot);
        return step("create-claim", "mutant", { do: "createClaim", claim: volumeClaim(snapshot) });
      }),
      unguarded("peer", "never-twice"),
    ],
    leaning: { ...LOST, steps: 160 },
  },
  {
    name: "claim-disowned is told before the member is fenced",
    edits: [earlierInPeer("claim-disowned", "replica-set")],
    leaning: { ...FORMING, often: { deleteClaim: 4, placeForeign: 4, crashOperator: 3 }, steps: 160 },
  },
  {
    name: "claim-lost is told before the member is fenced",
    edits: [earlierInPeer("claim-lost", "replica-set")],
    leaning: {
      ...FORMING,
      often: { deleteClaim: 8, deletePod: 4, crashOperator: 2, kubernetes: 120 },
      replicas: 1,
      steps: 400,
    },
  },
  {
    name: "a replica-set that is made again is not fenced + without peer guard never-twice",
    promise: "fence",
    edits: [
      replacedInPeer("replica-set", (real, snapshot) => {
        const worse = replicaSet(unfenced(snapshot));
        return withStep(real.decide(snapshot), (step) =>
          step.do === "createReplicaSet" ? { ...step, replicaSet: worse } : step,
        );
      }),
      unguarded("peer", "never-twice"),
    ],
    leaning: { ...FORMED, often: { deleteReplicaSet: 3 } },
  },
  {
    name: "without peer rule claim-taken + without peer guard claim-first",
    promise: "claim first",
    edits: [without("peer", "claim-taken"), unguarded("peer", "claim-first")],
    leaning: FOREIGN,
  },
  {
    name: "without peer rule replica-set-taken + without peer guard own-only",
    promise: "foreign stays",
    edits: [without("peer", "replica-set-taken"), unguarded("peer", "own-only")],
    leaning: { ...FORMED, often: { deletePeer: 4 } }, // the ReplicaSet of the EtcdPeer before is there for a while
  },
  {
    name: "the pod comes before its claim + without peer guard claim-first",
    promise: "claim first",
    edits: [earlierInPeer("replica-set", "claim-taken"), unguarded("peer", "claim-first")],
    leaning: FOREIGN,
  },
  {
    name: "a peer that goes takes any claim along + without peer guard asked-to-delete",
    promise: "claims stay",
    edits: [
      replacedInPeer("release-claim", (real, snapshot) => {
        const { claim, peer } = snapshot;
        if (claim === undefined || peer.metadata.deletionTimestamp === undefined) return real.decide(snapshot);
        return { next: "step", rule: "release-claim", because: "mutant", step: { do: "deleteClaim", claim } };
      }),
      unguarded("peer", "asked-to-delete"),
    ],
    leaning: { ...FORMED, often: { corruptMember: 2, deleteCluster: 1 }, steps: 80 },
  },
];

type Calls = Pick<KubeClient, "get" | "create" | "replace" | "patch" | "delete">;

/** The client with some of its calls made worse. */
function kubeWith(real: KubeClient, worse: Partial<Calls>): KubeClient {
  return { ...real, ...worse } as KubeClient;
}

function saying(conditions: readonly Condition[] | undefined, type: string): Condition[] {
  return (conditions ?? []).map((each) => (each.type === type ? { ...each, status: "True" } : each));
}

/**
 * A watch of EtcdClusters that hears nothing, and EtcdPeers that people delete meanwhile. Of one member: of several those that are
 * left answer, so that record-joined has to be done again first, in vain, and holds everything else.
 */
const DEAF: Leaning = {
  ...FORMING,
  replicas: 1,
  often: { muteWatch: 4, deletePeer: 6, etcd: 30, kubernetes: 60, time: 4 },
  steps: 200,
};

/** Decides again without having seen its own writes. */
function forgetful(real: PassTools): PassTools {
  return {
    ...real,
    expectations: { expect: () => undefined, refused: () => undefined, unmet: () => undefined } as never,
  };
}

/** To whom the API server always says that no member has joined. */
export function credulous(real: KubeClient): KubeClient {
  const get: KubeClient["get"] = async (resource, ref, options) => {
    const object = structuredClone(await real.get(resource, ref, options));
    for (const member of (object as Partial<EtcdCluster>).status?.identity?.initialMembers ?? []) member.joined = false;
    return object;
  };
  return kubeWith(real, { get });
}

/** Claims are as the operator last saw them, or better: none is being deleted. */
function unmourning(real: KubeClient): KubeClient {
  const get: KubeClient["get"] = async (resource, ref, options) => {
    const object = structuredClone(await real.get(resource, ref, options));
    if (object.kind === PERSISTENT_VOLUME_CLAIMS.kind) Reflect.deleteProperty(object.metadata, "deletionTimestamp");
    return object;
  };
  return kubeWith(real, { get });
}

/** To whom the API server never says that a cluster is paused. */
function untiring(real: KubeClient): KubeClient {
  const get: KubeClient["get"] = async (resource, ref, options) => {
    const object = structuredClone(await real.get(resource, ref, options));
    if (object.kind !== ETCD_CLUSTERS.kind) return object;
    Reflect.deleteProperty(object.metadata.annotations ?? {}, PAUSED_ANNOTATION);
    Reflect.deleteProperty((object as unknown as EtcdCluster).spec, "paused");
    return object;
  };
  return kubeWith(real, { get });
}

const PARTS: readonly Mutant[] = [
  {
    name: "a pause is not read once more before something goes",
    parts: { kube: untiring },
    leaning: { ...FORMED, often: { editReplicas: 3, etcd: 20, pause: 8, muteWatch: 10, time: 12 }, steps: 200 },
    promise: "paused is left alone",
  },
  {
    name: "claims are not read once more before a pod is stopped",
    parts: { kube: unmourning },
    leaning: {
      ...FORMED,
      replicas: 1,
      often: { deleteClaim: 3, editTemplate: 10, muteClaims: 3, time: 20, deliver: 60 },
      steps: 250,
    },
    promise: "dying claims",
  },
  {
    name: "writes without uid and resourceVersion",
    parts: {
      kube: (real, api) =>
        kubeWith(real, {
          replace: (resource, draft, options) => {
            const newest = api.find(resource, refOf(draft));
            const metadata = {
              ...draft.metadata,
              resourceVersion: newest?.metadata.resourceVersion ?? "",
              uid: newest?.metadata.uid ?? "",
            };
            return real.replace(resource, { ...draft, metadata }, options);
          },
        }),
    },
    leaning: {
      ...FORMING,
      often: { crashOperator: 3, deleteCluster: 2, createCluster: 3 },
      callFaults: { late: 0.5 },
      steps: 160,
    },
  },
  {
    name: "creating takes over what is there",
    parts: {
      kube: (real, api) =>
        kubeWith(real, {
          create: <T extends KubeObject>(resource: Resource<T>, draft: Draft<T>, options: { signal: AbortSignal }) => {
            const there = api.find(resource, refOf(draft));
            if (there === undefined) return real.create(resource, draft, options);
            const { uid, resourceVersion } = there.metadata;
            return real.replace(resource, { ...draft, metadata: { ...draft.metadata, uid, resourceVersion } }, options);
          },
        }),
    },
    leaning: FOREIGN,
  },
  {
    name: "without expectations",
    parts: { tools: forgetful },
    leaning: DEAF,
    covered: "who may bootstrap is asked of the API server before an EtcdPeer is made a second time; see the pair",
    promise: "fence",
  },
  {
    name: "nobody is asked who has joined",
    parts: { kube: credulous },
    leaning: DEAF,
    covered: "the cache has seen the operator's own writes; see the pair, and the story of the dead watch",
    promise: "fence",
  },
  {
    // A step that was made and is wanted again rests: that alone would keep it.
    name: "without expectations + nobody is asked who has joined + no step of the cluster rests",
    promise: "fence",
    parts: { cluster: restless, tools: forgetful, kube: credulous },
    leaning: DEAF,
  },
  {
    name: "the member list is read from one member alone",
    parts: {
      etcd: (real) => ({
        ...real,
        memberList: (at, options) => real.memberList(at, { ...options, linearizable: false }),
      }),
    },
    leaning: { ...FORMED, often: { killContainer: 4, cutOffMember: 4, nodeDown: 2 }, steps: 120 },
  },
  {
    name: "acts without the lease",
    parts: { tools: (real) => ({ ...real, mayAct: () => true }) },
    leaning: { ...FORMING, often: { loseLease: 3 } },
  },
  {
    name: "Available is always True",
    parts: {
      cluster: (real) => ({
        ...real,
        status: (...args) => {
          const status = real.status(...args);
          return { ...status, conditions: saying(status.conditions, "Available") };
        },
      }),
    },
    leaning: FORMING,
  },
  {
    name: "Ready is True when the cluster has formed once",
    parts: {
      cluster: (real) => ({
        ...real,
        status: (...args) => {
          const status = real.status(...args);
          const hasFormed = status.identity?.initialMembers.every(({ joined }) => joined) ?? false;
          return hasFormed ? { ...status, conditions: saying(status.conditions, "Ready") } : status;
        },
      }),
    },
    leaning: { ...FORMED, often: { killContainer: 4, nodeDown: 2 } },
  },
  {
    name: "Ready is True before anybody is served through the client Service",
    promise: "ready is true",
    parts: {
      cluster: (real) => ({
        ...real,
        status: (snapshot, ...rest) => real.status({ ...snapshot, throughService: present(true) }, ...rest),
      }),
    },
    leaning: FORMING,
  },
  {
    name: "a peer is Ready when its pod is",
    parts: {
      peer: (real) => ({
        ...real,
        status: (snapshot, plan) => {
          const status = real.status(snapshot, plan);
          return { ...status, conditions: saying(status.conditions, "Ready") };
        },
      }),
    },
    leaning: FORMING,
  },
  {
    name: "every look is told anew",
    parts: {
      cluster: (real) => ({
        ...real,
        status: (snapshot, plan) => ({
          ...real.status(snapshot, plan),
          leader: `at ${snapshot.takenAtMs}`,
        }),
      }),
    },
    leaning: FORMING,
  },
  {
    name: "a restart instead of a fence",
    parts: {
      cluster: (real, kube) => ({
        ...real,
        act: (step, snapshot, signal) => {
          if (step.do !== "replacePeer") return real.act(step, snapshot, signal);
          const { uid, namespace, name } = step.live.metadata;
          const deletion = kube.delete(ETCD_PEERS, { namespace, name }, { signal, preconditions: { uid } });
          return deletion.then(() => ({ kind: "external" }));
        },
      }),
    },
    leaning: FORMING,
  },
];

function refOf(draft: { readonly metadata: { readonly name: string; readonly namespace?: string } }): Ref {
  const { name, namespace } = draft.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

export const REMAINING_MUTANTS: readonly Mutant[] = [...LEFT_OUT, ...UNGUARDED, ...PAIRS, ...PARTS];
