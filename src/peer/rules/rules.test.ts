import { expect, test } from "vitest";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLEANUP_FINALIZER,
  CLUSTER_LABEL,
  INITIAL_CLUSTER_ANNOTATION,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { claim, NOW, pod } from "#kit/cluster.ts";
import { BOOTSTRAP, peer } from "#kit/peer.ts";
import type { PersistentVolumeClaim, Pod } from "#kube/kinds.ts";
import { PEER_RULES } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import type { Opinion } from "#runtime/decide.ts";

// What each rule says when it is asked alone: what other rules would have said before is no excuse.

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

/** With only some of the labels on the member's own claim. */
function labelled(labels: Readonly<Record<string, string>>): PeerSnapshot {
  const own = settled.claim!;
  return { ...settled, claim: { ...own, metadata: { ...own.metadata, labels } } as PersistentVolumeClaim };
}

/** Fewer members are wanted, and its claim is to go with it. */
function surplus(given: { going: boolean; claim?: PersistentVolumeClaim }): PeerSnapshot {
  const snapshot = peer({ deleting: given.going, finalizers: [CLEANUP_FINALIZER] });
  const metadata = { ...snapshot.peer.metadata, annotations: { [REMOVAL_ANNOTATION]: "scale-down" } };
  return { ...snapshot, peer: { ...snapshot.peer, metadata }, claim: given.claim ?? snapshot.claim };
}

/** How many pods the live ReplicaSet asks for. */
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
    { name: "the claim of a member that stays, stays", given: surplus({ going: false }), expect: "nothing" },
    {
      name: "a claim with the data of somebody else is not deleted with the peer",
      given: surplus({ going: true, claim: stolen }),
      expect: "releasePeer",
    },
  ],
  "await-membership": [
    {
      name: "a first member starts without being added",
      given: peer({ stage: "new", spec: { memberID: undefined } }),
      expect: "nothing",
    },
    {
      name: "a later member may start once it has its ID",
      given: peer({ stage: "new", spec: { bootstrap: { ...BOOTSTRAP, initialClusterState: "Existing" } } }),
      expect: "nothing",
    },
  ],
  "label-claim": [
    { name: "one label is not all of them", given: labelled({ [CLUSTER_LABEL]: "my-etcd" }), expect: "labelClaim" },
    {
      name: "a claim that may be somebody else's is not labelled as ours",
      given: { ...settled, claim: stolen },
      expect: "nothing",
    },
  ],
  "claim-disowned": [
    {
      name: "a claim that a member never had cannot leave it",
      given: { ...fresh, claim: stolen },
      expect: "nothing",
    },
  ],
  "claim-lost": [{ name: "who has yet to join has lost nothing", given: fresh, expect: "nothing" }],
  "fence-pod": [
    { name: "a pod that goes is left to go", given: { ...settled, pod: goingPod() }, expect: "nothing" },
    {
      name: "a member that has yet to join may bootstrap",
      given: { ...peer({ stage: "starting" }), pod: pod("my-etcd-0", { ready: true, fenced: false }) },
      expect: "nothing",
    },
  ],
  "replica-set": [
    { name: "no pod is asked for without a claim", given: fresh, expect: "nothing" },
    {
      name: "a member that has joined starts over no claim but its own",
      given: { ...settled, claim: stolen, replicaSet: undefined },
      expect: "nothing",
    },
    {
      name: "before a member has joined, claim-taken and claim-first see to whose claim it is",
      given: { ...fresh, claim: stolen },
      expect: "createReplicaSet",
    },
    {
      name: "somebody who has stopped a member on its own claim is told otherwise",
      given: withReplicas(settled, 0),
      expect: "replaceReplicaSet",
    },
    {
      name: "whom somebody keeps from running over another claim stays so",
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

test("claim-disowned: a claim that says nothing is told from one that says otherwise", () => {
  const other = claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" });
  expect(opinion("claim-disowned", { ...settled, claim: stolen })).toMatchObject({
    because: expect.stringContaining("my-etcd-0 does not say any more"),
  });
  expect(opinion("claim-disowned", { ...settled, claim: other })).toMatchObject({
    because: expect.stringContaining("my-etcd-0 says otherwise now"),
  });
});

test("replica-set: a member that somebody has stopped on its own claim runs again", () => {
  expect(opinion("replica-set", withReplicas(settled, 0))).toMatchObject({
    step: { replicaSet: { spec: { replicas: 1 } } },
  });
});

test("replica-set: what says nothing of its replicas asks for one, as the API server has it, and selects the same pods", () => {
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
