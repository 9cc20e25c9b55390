import { expect, test } from "vitest";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLEANUP_FINALIZER,
  CLUSTER_LABEL,
  INITIAL_CLUSTER_ANNOTATION,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { claim, NOW, pod } from "#kit/snapshots/cluster.ts";
import { BOOTSTRAP, peer } from "#kit/snapshots/peer.ts";
import type { PersistentVolumeClaim, Pod } from "#kube/kinds.ts";
import { PEER_RULES } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import type { Opinion } from "#runtime/decide.ts";

// Each rule alone: it must be right even if an earlier rule would have decided.

function opinion(rule: string, snapshot: PeerSnapshot): Opinion<PeerStep> | undefined {
  return PEER_RULES.find(({ name }) => name === rule)!.decide(snapshot);
}

function said(rule: string, snapshot: PeerSnapshot): string {
  const its = opinion(rule, snapshot);
  return its?.next === "step" ? its.step.do : (its?.next ?? "nothing");
}

const stolen = claim("my-etcd-0");
const settled = peer();
const fresh = peer({ stage: "new" });

/** The member's own claim with only these labels. */
function labelled(labels: Readonly<Record<string, string>>): PeerSnapshot {
  const own = settled.claim!;
  return { ...settled, claim: { ...own, metadata: { ...own.metadata, labels } } as PersistentVolumeClaim };
}

/** A member that is removed by a scale-down together with its claim. */
function surplus(given: { going: boolean; claim?: PersistentVolumeClaim }): PeerSnapshot {
  const snapshot = peer({ deleting: given.going, finalizers: [CLEANUP_FINALIZER] });
  const metadata = { ...snapshot.peer.metadata, annotations: { [REMOVAL_ANNOTATION]: "scale-down" } };
  return { ...snapshot, peer: { ...snapshot.peer, metadata }, claim: given.claim ?? snapshot.claim };
}

/** The live ReplicaSet with this number of replicas. */
function withReplicas(snapshot: PeerSnapshot, replicas: number | undefined): PeerSnapshot {
  const live = snapshot.replicaSet!;
  const { replicas: _, ...spec } = live.spec!;
  return {
    ...snapshot,
    replicaSet: { ...live, spec: replicas === undefined ? spec : { ...spec, replicas } },
  };
}

function goingPod(): Pod {
  const unfenced = pod("my-etcd-0", { ready: true, fenced: false });
  return { ...unfenced, metadata: { ...unfenced.metadata, deletionTimestamp: new Date(NOW).toISOString() } };
}

const cases: Record<string, readonly { name: string; given: PeerSnapshot; expect: string }[]> = {
  "release-claim": [
    {
      name: "the claim of a member that is not being deleted stays",
      given: surplus({ going: false }),
      expect: "nothing",
    },
    {
      name: "a claim with another member's data is not deleted with the peer",
      given: surplus({ going: true, claim: stolen }),
      expect: "releasePeer",
    },
  ],
  "await-membership": [
    {
      name: "a first member starts without a member ID",
      given: peer({ stage: "new", spec: { memberID: undefined } }),
      expect: "nothing",
    },
    {
      name: "a later member may start once it has its member ID",
      given: peer({ stage: "new", spec: { bootstrap: { ...BOOTSTRAP, initialClusterState: "Existing" } } }),
      expect: "nothing",
    },
  ],
  "label-claim": [
    {
      name: "a claim that lacks one label is labelled",
      given: labelled({ [CLUSTER_LABEL]: "my-etcd" }),
      expect: "labelClaim",
    },
    {
      name: "a claim that may belong to another member is not labelled",
      given: { ...settled, claim: stolen },
      expect: "nothing",
    },
  ],
  "claim-disowned": [
    {
      name: "a foreign claim of a new member is not reported as replaced",
      given: { ...fresh, claim: stolen },
      expect: "nothing",
    },
  ],
  "claim-lost": [{ name: "a member that has not joined is not reported as lost", given: fresh, expect: "nothing" }],
  "fence-pod": [
    { name: "a terminating pod is not annotated", given: { ...settled, pod: goingPod() }, expect: "nothing" },
    {
      name: "a member that has not joined is not fenced",
      given: { ...peer({ stage: "starting" }), pod: pod("my-etcd-0", { ready: true, fenced: false }) },
      expect: "nothing",
    },
  ],
  "replica-set": [
    { name: "no ReplicaSet is created without a claim", given: fresh, expect: "nothing" },
    {
      name: "a member that has joined starts only on its own claim",
      given: { ...settled, claim: stolen, replicaSet: undefined },
      expect: "nothing",
    },
    {
      name: "a new member's foreign claim does not stop this rule, as claims-unclear and claim-first do",
      given: { ...fresh, claim: stolen },
      expect: "createReplicaSet",
    },
    {
      name: "a member that a user stopped is started on its own claim",
      given: withReplicas(settled, 0),
      expect: "replaceReplicaSet",
    },
    {
      name: "a member that a user stopped is not started on a replaced claim",
      given: withReplicas({ ...settled, claim: stolen }, 0),
      expect: "nothing",
    },
  ],
};

for (const [rule, promises] of Object.entries(cases)) {
  for (const { name, given, expect: wanted } of promises) {
    test(`${rule}: ${name}`, () => expect(said(rule, given)).toBe(wanted));
  }
}

test("claim-disowned: missing and different annotations have different messages", () => {
  const other = claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" });
  expect(opinion("claim-disowned", { ...settled, claim: stolen })).toMatchObject({
    because: expect.stringContaining("my-etcd-0 is no longer annotated"),
  });
  expect(opinion("claim-disowned", { ...settled, claim: other })).toMatchObject({
    because: expect.stringContaining("my-etcd-0 is annotated otherwise"),
  });
});

test("replica-set: a member that a user stopped gets one replica on its own claim", () => {
  expect(opinion("replica-set", withReplicas(settled, 0))).toMatchObject({
    step: { replicaSet: { spec: { replicas: 1 } } },
  });
});

test("replica-set: a ReplicaSet without a replicas field gets one replica and keeps its selector", () => {
  const joined = peer({ stage: "joined" });
  const fenced = { ...settled, claim: stolen, replicaSet: joined.replicaSet };
  const { replicas, selector, template } = settled.replicaSet!.spec!;
  expect(template?.metadata?.annotations?.[INITIAL_CLUSTER_ANNOTATION]).not.toBe(
    joined.replicaSet!.spec!.template?.metadata?.annotations?.[INITIAL_CLUSTER_ANNOTATION],
  );
  expect(opinion("replica-set", withReplicas(fenced, undefined))).toMatchObject({
    step: { replicaSet: { spec: { replicas, selector, template } } },
  });
});
