import { expect, test } from "vitest";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { claim, claimIdentity, cluster, endpointStatus, LATER_ID, pod, withArrival } from "#kit/snapshots/cluster.ts";
import { withEachMember } from "#kit/snapshots/cluster-changes.ts";
import type { Pod } from "#kube/kinds.ts";
import { isInSync } from "./learners.ts";
import { type KnownMember, knownMembers } from "./members.ts";

const settled = cluster();
const { clusterID, initialMembers } = settled.cluster.status!.identity!;
const started = withArrival(settled, "my-etcd-3", "started");
const added = withArrival(settled, "my-etcd-3", "added");

function learnerIn(snapshot: ClusterSnapshot): KnownMember {
  return knownMembers(snapshot).find(({ id }) => id === LATER_ID)!;
}

test.each([
  [9, true],
  [8, false],
])("learners: isInSync of a learner with %d of the leader's ten log entries is %s", (raftAppliedIndex, wanted) => {
  const status = { ...endpointStatus(clusterID, LATER_ID, initialMembers[0]!.id), raftAppliedIndex };
  const given = { ...started, endpoints: new Map([...started.endpoints, ["my-etcd-3", present(status)] as const]) };
  expect(isInSync(given, learnerIn(given))).toBe(wanted);
});

/** The joining member's claim, with or without a volume. */
function withClaim(snapshot: ClusterSnapshot, bound: boolean, name = "my-etcd-3", id = LATER_ID): ClusterSnapshot {
  return { ...snapshot, claims: [...snapshot.claims, claim(name, claimIdentity(clusterID, id), { bound })] };
}

function withPod(snapshot: ClusterSnapshot, given: { hasRun: boolean }): ClusterSnapshot {
  const its = pod("my-etcd-3", { ready: false });
  const state = given.hasRun ? { terminated: { exitCode: 1, startedAt: "2026-01-01T11:59:00Z" } } : { waiting: {} };
  const containerStatuses = [{ name: "etcd", restartCount: 0, state }];
  const told = { ...its, status: { phase: "Pending", containerStatuses } } as unknown as Pod;
  return { ...snapshot, pods: new Map([...snapshot.pods, ["my-etcd-3", told]]) };
}

const cases: { name: string; given: ClusterSnapshot; expect: boolean }[] = [
  { name: "with an unbound claim never ran", given: withClaim(added, false), expect: true },
  {
    name: "with a container that never started never ran",
    given: begin(added).apply(withClaim, true).apply(withPod, { hasRun: false }).snapshot,
    expect: true,
  },
  {
    name: "with a container that has started may hold data",
    given: begin(added).apply(withClaim, true).apply(withPod, { hasRun: true }).snapshot,
    expect: false,
  },
  { name: "with a volume and without a pod may hold data", given: withClaim(added, true), expect: false },
  {
    name: "with a vote and a volume may hold data",
    given: begin(added)
      .apply(withClaim, true)
      .apply(withPod, { hasRun: false })
      .apply(withEachMember, () => ({ isLearner: false })).snapshot,
    expect: false,
  },
  {
    name: "that has started holds data",
    given: { ...withClaim(started, false), endpoints: settled.endpoints },
    expect: false,
  },
  {
    name: "that participates holds data",
    given: { ...withClaim(added, false), endpoints: started.endpoints },
    expect: false,
  },
  { name: "may hold data when its claim is not in the cache", given: added, expect: false },
  {
    name: "may hold data when the claim of its name has another member's ID",
    given: withClaim(added, false, "my-etcd-3", "abc"),
    expect: false,
  },
  { name: "may hold data when its claim has another name", given: withClaim(added, false, "my-etcd-4"), expect: false },
];
for (const { name, given, expect: wanted } of cases) {
  test(`learners: a joining member ${name}`, () => expect(learnerIn(given).data.neverRan).toBe(wanted));
}

/** The joining member's EtcdPeer reports why it is not Ready. */
function saying(snapshot: ClusterSnapshot, reason: string): ClusterSnapshot {
  const conditions = [
    { type: "Other", status: "False", reason: "NameTaken", message: "" },
    { type: "Ready", status: "False", reason, message: "" },
  ];
  const peers = snapshot.peers.map((peer) =>
    peer.metadata.name === "my-etcd-3" ? ({ ...peer, status: { conditions } } as typeof peer) : peer,
  );
  return { ...snapshot, peers };
}

const waiting: { name: string; given: ClusterSnapshot; expect: boolean }[] = [
  { name: "with a volume and without a pod lacks only a pod", given: withClaim(added, true), expect: true },
  {
    name: "with a refused pod lacks only a pod",
    given: begin(added).apply(withClaim, true).apply(saying, "PodPending").snapshot,
    expect: true,
  },
  {
    name: "with a taken name lacks more than a pod: a new member has another name",
    given: begin(added).apply(withClaim, true).apply(saying, "NameTaken").snapshot,
    expect: false,
  },
  {
    name: "that has a pod lacks something other than a pod",
    given: begin(added).apply(withClaim, true).apply(withPod, { hasRun: false }).snapshot,
    expect: false,
  },
  {
    name: "with an unbound claim lacks more than a pod: a new attempt may start on another node",
    given: withClaim(added, false),
    expect: false,
  },
  { name: "without a claim lacks more than a pod", given: added, expect: false },
  {
    name: "that is a voter does not count as lacking only a pod",
    given: begin(added)
      .apply(withClaim, true)
      .apply(withEachMember, () => ({ isLearner: false })).snapshot,
    expect: false,
  },
];
for (const { name, given, expect: wanted } of waiting) {
  test(`learners: a joining member ${name}`, () => expect(learnerIn(given).data.lacksOnlyPod).toBe(wanted));
}

test.each<[string, ClusterSnapshot, string]>([
  ["has not started when it was only added", added, "notStarted"],
  ["has started when etcd lists it as started", withSilent(started), "started"],
  ["has started when it answers, although the member list is older", withAnswer(added), "started"],
])("learners: a learner %s", (_, given, wanted) => {
  expect(learnerIn(given).joining).toBe(wanted);
});

test("learners: an initial member that has not started does not count as joining", () => {
  const forming = cluster({ stage: "starting" });
  expect(knownMembers(forming)[0]!.joining).toBe("none");
  const lateFounder = withEachMember(added, ({ name }) => (name === "my-etcd-2" ? { clientUrls: [] } : {}));
  const endpoints = new Map([...lateFounder.endpoints].filter(([name]) => name !== "my-etcd-2"));
  const late = { ...lateFounder, endpoints };
  expect(knownMembers(late).find(({ name }) => name === "my-etcd-2")!.joining).toBe("none");
});

function withSilent(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints].filter(([name]) => name !== "my-etcd-3")) };
}

function withAnswer(snapshot: ClusterSnapshot): ClusterSnapshot {
  const status = endpointStatus(clusterID, LATER_ID, initialMembers[0]!.id);
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints, ["my-etcd-3", present(status)] as const]) };
}
