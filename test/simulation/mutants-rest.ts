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
import { COPIED, DELETED, FOREIGN, FORMED, FORMING, LOST, SCALED } from "./leanings.ts";
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

/** Mutants that leave out one rule of the peer each. */
const LEFT_OUT = leftOut("peer", [
  { name: "paused", leaning: { ...FORMED, often: { pause: 3, deleteReplicaSet: 3 } } },
  { name: "release-claim", leaning: SCALED },
  {
    name: "deleting",
    leaning: { ...FORMED, often: { deleteCluster: 4, createCluster: 3, deleteReplicaSet: 3 }, steps: 120 },
  },
  { name: "await-membership", leaning: SCALED },
  {
    name: "claims-unclear",
    leaning: FOREIGN,
    covered: "guard claim-first blocks the pod; see the pair",
    promise: "claim first",
  },
  { name: "claim-disowned", leaning: FOREIGN, covered: "it only sets a condition; guard claim-first blocks a new pod" },
  { name: "label-claim", leaning: { ...FORMED, often: { unlabelClaim: 4, deletePod: 3 } } },
  {
    name: "annotate-claim",
    leaning: FORMED,
    covered: "no member switches to TLS in these histories; src/peer/plan.test.ts",
  },
  {
    name: "record-release",
    leaning: DELETED,
    covered: "clusters are recreated with the same release in these histories; stories/again.ts",
  },
  {
    name: "claim-lost",
    leaning: LOST,
    covered: "it only sets a condition; rule create-claim makes no claim for a member that has joined",
  },
  { name: "create-claim", leaning: FORMING },
  {
    name: "replica-set-taken",
    leaning: FOREIGN,
    covered: "guard own-only forbids the change; see the pair",
    promise: "foreign objects stay",
  },
  { name: "replica-set", leaning: FORMING },
  { name: "fence-pod", leaning: FORMING },
  {
    name: "note-revision",
    leaning: FORMED,
    covered: "no client of the simulation removes the annotation from a pod",
  },
  {
    name: "await-member",
    leaning: { ...FORMED, often: { hideMember: 4, killContainer: 2 }, callFaults: { unsent: 0.2 } },
  },
  {
    name: "await-pod",
    leaning: FORMED,
    covered: "only a recheck depends on it: the pod's events wake the controller, and the status reads the pod itself",
  },
]);

const UNGUARDED = leftUnguarded("peer", [
  {
    name: "claim-first",
    leaning: LOST,
    covered: "rules create-claim and claims-unclear come first; see the pairs",
    promise: "claim first",
  },
  {
    name: "token-is-here",
    leaning: COPIED,
    covered:
      "only the operator writes EtcdPeers in this world, always with the token of their own cluster; see the pair",
    promise: "one place",
  },
  {
    name: "never-twice",
    leaning: LOST,
    covered: "rule create-claim checks this itself, and the flags follow the EtcdPeer; see the pairs",
    promise: "no empty claim",
  },
  {
    name: "asked-to-delete",
    leaning: LOST,
    covered: "rule release-claim checks this itself; see the pairs",
    promise: "claims stay",
  },
  {
    name: "known-secrets",
    leaning: LOST,
    covered: "only the operator writes EtcdPeers in this world; src/peer/guards.test.ts",
  },
  {
    name: "own-only",
    leaning: LOST,
    covered: "rule replica-set-taken comes first; see the pairs",
    promise: "foreign objects stay",
  },
]);

/** The snapshot with an unfenced EtcdPeer. */
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
    name: "create-claim creates every missing claim, even a second one + without peer guard never-twice",
    promise: "no empty claim",
    edits: [
      replacedInPeer("create-claim", (real, snapshot) => {
        if (snapshot.claim !== undefined) return real.decide(snapshot);
        return step("mutant", { do: "createClaim", claim: volumeClaim(snapshot) });
      }),
      unguarded("peer", "never-twice"),
    ],
    leaning: { ...LOST, steps: 160 },
  },
  {
    name: "rule claim-disowned comes before the fence",
    edits: [earlierInPeer("claim-disowned", "replica-set")],
    leaning: { ...FORMING, often: { deleteClaim: 4, placeForeign: 4, crashOperator: 3 }, steps: 160 },
  },
  {
    name: "rule claim-lost comes before the fence",
    edits: [earlierInPeer("claim-lost", "replica-set")],
    leaning: {
      ...FORMING,
      often: { deleteClaim: 8, deletePod: 4, crashOperator: 2, kubernetes: 120 },
      replicas: 1,
      steps: 400,
    },
  },
  {
    name: "a recreated ReplicaSet is not fenced + without peer guard never-twice",
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
    name: "without peer rule claims-unclear + without peer guard claim-first",
    promise: "claim first",
    edits: [without("peer", "claims-unclear"), unguarded("peer", "claim-first")],
    leaning: FOREIGN,
  },
  {
    name: "without peer rule replica-set-taken + without peer guard own-only",
    promise: "foreign objects stay",
    edits: [without("peer", "replica-set-taken"), unguarded("peer", "own-only")],
    leaning: { ...FORMED, often: { deletePeer: 4 } }, // The ReplicaSet of the previous EtcdPeer remains for a while.
  },
  {
    name: "the pod is created before its claim + without peer guard claim-first",
    promise: "claim first",
    edits: [earlierInPeer("replica-set", "claims-unclear"), unguarded("peer", "claim-first")],
    leaning: FOREIGN,
  },
  {
    name: "every deletion of an EtcdPeer deletes the claim + without peer guard asked-to-delete",
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

/** The client with some of its calls replaced. */
function kubeWith(real: KubeClient, worse: Partial<Calls>): KubeClient {
  return { ...real, ...worse } as KubeClient;
}

function saying(conditions: readonly Condition[] | undefined, type: string): Condition[] {
  return (conditions ?? []).map((each) => (each.type === type ? { ...each, status: "True" } : each));
}

/**
 * A muted watch of EtcdClusters, and deletions of EtcdPeers. The cluster has one member: with several, the
 * remaining ones would answer. Then rule record-joined would have to run again first, and would block everything else.
 */
const DEAF: Leaning = {
  ...FORMING,
  replicas: 1,
  often: { muteWatch: 4, deletePeer: 6, etcd: 30, kubernetes: 60, time: 4 },
  steps: 200,
};

/** Decides again before it has seen its own writes. */
function forgetful(real: PassTools): PassTools {
  return {
    ...real,
    expectations: { expect: () => undefined, refused: () => undefined, unmet: () => undefined } as never,
  };
}

/** The API server always answers that no member has joined. */
export function credulous(real: KubeClient): KubeClient {
  const get: KubeClient["get"] = async (resource, ref, options) => {
    const object = structuredClone(await real.get(resource, ref, options));
    for (const member of (object as Partial<EtcdCluster>).status?.identity?.initialMembers ?? []) member.joined = false;
    return object;
  };
  return kubeWith(real, { get });
}

/** The API server always answers that no claim is being deleted. */
function unmourning(real: KubeClient): KubeClient {
  const get: KubeClient["get"] = async (resource, ref, options) => {
    const object = structuredClone(await real.get(resource, ref, options));
    if (object.kind === PERSISTENT_VOLUME_CLAIMS.kind) Reflect.deleteProperty(object.metadata, "deletionTimestamp");
    return object;
  };
  return kubeWith(real, { get });
}

/** The API server always answers that no cluster is paused. */
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
    name: "spec.paused is not read from the API server before a deletion",
    parts: { kube: untiring },
    leaning: { ...FORMED, often: { editReplicas: 3, etcd: 20, pause: 8, muteWatch: 10, time: 12 }, steps: 200 },
    promise: "pause stops changes",
  },
  {
    name: "claims are not read from the API server before a pod is stopped",
    parts: { kube: unmourning },
    leaning: {
      ...FORMED,
      replicas: 1,
      often: { deleteClaim: 3, editTemplate: 10, muteClaims: 3, time: 20, deliver: 60 },
      steps: 250,
    },
    promise: "dying claims are held",
  },
  {
    name: "writes have no uid and resourceVersion as preconditions",
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
    name: "a create replaces an existing object",
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
    name: "decisions do not wait for own writes",
    parts: { tools: forgetful },
    leaning: DEAF,
    covered: "the API server is asked which members may bootstrap before an EtcdPeer is created again; see the pair",
    promise: "fence",
  },
  {
    name: "the API server is not asked which members have joined",
    parts: { kube: credulous },
    leaning: DEAF,
    covered: "the cache already has the operator's own writes; see the pair, and the story of the dead watch",
    promise: "fence",
  },
  {
    // A repeated step rests, which alone would keep the promise.
    name: "decisions do not wait for own writes + the API server is not asked which members have joined + no cluster step is deferred",
    promise: "fence",
    parts: { cluster: restless, tools: forgetful, kube: credulous },
    leaning: DEAF,
  },
  {
    name: "the member list is read without linearizability",
    parts: {
      etcd: (real) => ({
        ...real,
        memberList: (at, options) => real.memberList(at, { ...options, linearizable: false }),
      }),
    },
    leaning: { ...FORMED, often: { killContainer: 4, cutOffMember: 4, nodeDown: 2 }, steps: 120 },
  },
  {
    name: "the operator acts without the lease",
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
    name: "Ready stays True after the cluster has formed",
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
    name: "Ready is True before the client Service serves a client",
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
    name: "the condition Ready of an EtcdPeer is always True",
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
    name: "every observation changes the status",
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
    name: "the EtcdPeer is deleted instead of fenced",
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
