import { expect, test } from "vitest";
import { CLEANUP_FINALIZER, REVISION_ANNOTATION } from "#api/names.ts";
import { born, claim, pod } from "#kit/snapshots/cluster.ts";
import { peer } from "#kit/snapshots/peer.ts";
import type { Pod, ReplicaSet } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { PEER_RULES, planPeer } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

// When both rules apply, the first one decides: the order of the list is part of each rule.

const stolen = claim("my-etcd-0");
const theirs = born<ReplicaSet>({
  ...replicaSet(peer()),
  metadata: { ...replicaSet(peer()).metadata, ownerReferences: [] },
});

const stopped = born<ReplicaSet>(replicaSet({ ...peer(), isAsleep: true }));
const unstarted = born<ReplicaSet>(replicaSet({ ...peer({ stage: "starting" }), isAsleep: true }));

/** A pod without the revision annotation. */
function unsaid(given: Parameters<typeof pod>[1]): Pod {
  const its = pod("my-etcd-0", given);
  const { [REVISION_ANNOTATION]: _, ...annotations } = its.metadata.annotations!;
  return { ...its, metadata: { ...its.metadata, annotations } };
}

const pairs: { first: string; second: string; so: string; given: PeerSnapshot }[] = [
  {
    first: "paused",
    second: "release-claim",
    so: "no claim is deleted during a pause",
    given: peer({ deleting: true, finalizers: [CLEANUP_FINALIZER], with: { pausedBy: "spec.paused is true" } }),
  },
  {
    first: "deleting",
    second: "await-membership",
    so: "a peer without an EtcdCluster may be deleted",
    given: peer({ stage: "new", deleting: true, spec: { clusterID: undefined } }),
  },
  {
    first: "await-membership",
    second: "claims-unclear",
    so: "the message for a peer without an EtcdCluster does not suggest deleting a claim",
    given: peer({ stage: "new", spec: { clusterID: undefined }, with: { claim: stolen } }),
  },
  {
    first: "create-claim",
    second: "replica-set-taken",
    so: "the claim exists when the ReplicaSet's name becomes free",
    given: peer({ stage: "new", with: { replicaSet: theirs } }),
  },
  {
    first: "fence-pod",
    second: "claim-disowned",
    so: "a process on a replaced volume could otherwise restart and bootstrap",
    given: peer({ with: { claim: stolen, pod: pod("my-etcd-0", { ready: true, fenced: false }) } }),
  },
  {
    first: "fence-pod",
    second: "note-revision",
    so: "a member without data could bootstrap until its pod is fenced",
    given: peer({ with: { pod: unsaid({ ready: true, fenced: false }) } }),
  },
  {
    first: "note-revision",
    second: "claim-disowned",
    so: "a pod gets its revision even when its claim is replaced",
    given: peer({ with: { claim: stolen, pod: unsaid({ ready: true }) } }),
  },
  {
    first: "claim-lost",
    second: "await-pod",
    so: "lost data is reported before a missing pod",
    given: peer({ with: { claim: undefined, pod: undefined } }),
  },
  {
    first: "claim-lost",
    second: "asleep",
    so: "lost data is reported for a member that sleeps",
    given: peer({ with: { isAsleep: true, claim: undefined, pod: undefined, replicaSet: stopped } }),
  },
  {
    first: "asleep",
    second: "await-pod",
    so: "the pod of a member that sleeps is not expected",
    given: peer({ stage: "starting", with: { isAsleep: true, replicaSet: unstarted } }),
  },
];

for (const { first, second, so, given } of pairs) {
  test(`peer order: ${first} comes before ${second}: ${so}`, () => {
    const having = PEER_RULES.filter((rule) => rule.decide(given) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    const plan = planPeer(given);
    expect(plan.next === "settled" ? "deleting" : plan.rule).toBe(first);
  });
}
