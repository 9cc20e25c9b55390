import { expect, test } from "vitest";
import { CLEANUP_FINALIZER, REVISION_ANNOTATION } from "#api/names.ts";
import { born, claim, pod } from "#kit/cluster.ts";
import { peer } from "#kit/peer.ts";
import type { Pod, ReplicaSet } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { PEER_RULES, planPeer } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

// When both rules have an opinion, the first one speaks: the place in the list is part of each rule.

const stolen = claim("my-etcd-0");
const theirs = born<ReplicaSet>({
  ...replicaSet(peer()),
  metadata: { ...replicaSet(peer()).metadata, ownerReferences: [] },
});

const stopped = born<ReplicaSet>(replicaSet({ ...peer(), isAsleep: true }));
const unstarted = born<ReplicaSet>(replicaSet({ ...peer({ stage: "starting" }), isAsleep: true }));

/** A pod that does not say what it was made from. */
function unsaid(given: Parameters<typeof pod>[1]): Pod {
  const its = pod("my-etcd-0", given);
  const { [REVISION_ANNOTATION]: _, ...annotations } = its.metadata.annotations!;
  return { ...its, metadata: { ...its.metadata, annotations } };
}

const pairs: { first: string; second: string; so: string; given: PeerSnapshot }[] = [
  {
    first: "paused",
    second: "release-claim",
    so: "no claim is touched while it is paused",
    given: peer({ deleting: true, finalizers: [CLEANUP_FINALIZER], with: { pausedBy: "spec.paused is true" } }),
  },
  {
    first: "deleting",
    second: "await-membership",
    so: "a peer that no cluster has made may go",
    given: peer({ stage: "new", deleting: true, spec: { clusterID: undefined } }),
  },
  {
    first: "await-membership",
    second: "claim-taken",
    so: "nobody is told to delete a claim for a peer that no cluster has made",
    given: peer({ stage: "new", spec: { clusterID: undefined }, with: { claim: stolen } }),
  },
  {
    first: "create-claim",
    second: "replica-set-taken",
    so: "the claim is there when the name is free",
    given: peer({ stage: "new", with: { replicaSet: theirs } }),
  },
  {
    first: "fence-pod",
    second: "claim-disowned",
    so: "a process that runs on the wrong volume may start again",
    given: peer({ with: { claim: stolen, pod: pod("my-etcd-0", { ready: true, fenced: false }) } }),
  },
  {
    first: "fence-pod",
    second: "note-revision",
    so: "until then an emptied member could vote",
    given: peer({ with: { pod: unsaid({ ready: true, fenced: false }) } }),
  },
  {
    first: "note-revision",
    second: "claim-disowned",
    so: "a pod is told apart whatever becomes of its claim",
    given: peer({ with: { claim: stolen, pod: unsaid({ ready: true }) } }),
  },
  {
    first: "claim-lost",
    second: "await-pod",
    so: "it is said that the data is gone, not that a pod is late",
    given: peer({ with: { claim: undefined, pod: undefined } }),
  },
  {
    first: "claim-lost",
    second: "asleep",
    so: "it is said that the data is gone, also of who sleeps",
    given: peer({ with: { isAsleep: true, claim: undefined, pod: undefined, replicaSet: stopped } }),
  },
  {
    first: "asleep",
    second: "await-pod",
    so: "nobody waits for the pod of who sleeps",
    given: peer({ stage: "starting", with: { isAsleep: true, replicaSet: unstarted } }),
  },
];

for (const { first, second, so, given } of pairs) {
  test(`peer order: ${first} speaks before ${second}: ${so}`, () => {
    const having = PEER_RULES.filter((rule) => rule.decide(given) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    const plan = planPeer(given);
    expect(plan.next === "settled" ? "deleting" : plan.rule).toBe(first);
  });
}
