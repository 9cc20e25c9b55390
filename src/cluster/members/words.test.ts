import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { awaitLearner } from "#cluster/members/rules/await-learner.ts";
import { awaitQuorum } from "#cluster/members/rules/await-quorum.ts";
import { removeMember } from "#cluster/members/rules/remove-member.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, sickFor, withArrival, withRemoval } from "#kit/snapshots/cluster.ts";
import { dialled, withAlarms } from "#kit/snapshots/cluster-changes.ts";
import { saying } from "#kit/snapshots/cluster-rolling.ts";

// Messages, and recheck intervals.

const outage = cluster({ down: ["my-etcd-1", "my-etcd-2"] });
const sickTwo = (one: number, other: number) =>
  begin(outage).apply(sickFor, "my-etcd-1", one).apply(sickFor, "my-etcd-2", other).snapshot;

const outages: { name: string; given: ClusterSnapshot; expect: number }[] = [
  { name: "every second at first", given: outage, expect: 1_000 },
  { name: "at the interval for the member that went down last", given: sickTwo(50_000, 20_000), expect: 2_000 },
  { name: "every ten seconds after a long outage", given: sickTwo(3_600_000, 3_600_000), expect: 10_000 },
];
test("remove-member: reports that spec.replacement.policy Never cancels a replacement", () => {
  const marked = withRemoval(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", "replacement");
  const kept = { ...marked, replaceAfterMs: Number.POSITIVE_INFINITY };
  expect(removeMember.decide(kept)).toMatchObject({
    because: "my-etcd-2 is not replaced any more: spec.replacement.policy is Never",
  });
  const patient = withRemoval(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", "scale-down");
  expect(removeMember.decide({ ...patient, replaceAfterMs: Number.POSITIVE_INFINITY })).toMatchObject({
    because: "my-etcd-2 no longer has to be removed",
  });
  const heard = { ...marked, heard: new Set([marked.cluster.status!.identity!.initialMembers[2]!.id]) };
  expect(removeMember.decide(heard)).toMatchObject({ because: "my-etcd-2 is healthy, or may be" });
  const well = { ...withRemoval(cluster(), "my-etcd-2", "replacement"), replaceAfterMs: Number.POSITIVE_INFINITY };
  expect(removeMember.decide(well)).toMatchObject({ because: "my-etcd-2 is healthy, or may be" });
});

for (const { name, given, expect: wanted } of outages) {
  test(`await-quorum: warns, and rechecks ${name}`, () => {
    expect(awaitQuorum.decide(given)).toMatchObject({ next: "wait", recheckAfterMs: wanted, warn: true });
  });
}

const NO_LIST = unknown("members of the cluster follow different leaders");

/** All members answer, and none can list the others. The conditions have had this status for this long. */
function electing(conditions: Readonly<Record<string, "True" | "False" | "Unknown">>, ms: number): ClusterSnapshot {
  const given = cluster();
  const lastTransitionTime = new Date(given.takenAtMs - ms).toISOString();
  const told = Object.entries(conditions).map(([type, status]) => {
    return { type, status, reason: "QuorumLost", message: "", observedGeneration: 1, lastTransitionTime };
  });
  const live = { ...given.cluster, status: { ...given.cluster.status, conditions: told } };
  return { ...given, cluster: live, members: NO_LIST };
}

const leaderless = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
  (given, name) => saying(given, name, { leaderId: undefined }),
  electing({ Available: "True" }, 3_600_000),
);

test.each<[string, ClusterSnapshot, number, boolean]>([
  ["no Warning in a cluster that was available", electing({ Available: "True" }, 3_600_000), 1_000, false],
  ["no Warning during a long update", electing({ Ready: "False", Available: "True" }, 600_000), 1_000, false],
  ["no Warning in a cluster without a status", { ...cluster(), members: NO_LIST }, 1_000, false],
  ["no Warning before fifteen seconds", electing({ Available: "False" }, 14_999), 1_499.9, false],
  ["a Warning after fifteen seconds", electing({ Available: "Unknown" }, 15_000), 1_500, true],
  ["no Warning while none of them has a leader", leaderless, 1_000, false],
])("await-quorum: members that answer without a list cause %s", (_, given, recheckAfterMs, warn) => {
  expect(awaitQuorum.decide(given)).toMatchObject({ next: "wait", recheckAfterMs, warn });
});

test("await-quorum: only members that do not answer are called missing", () => {
  const given = {
    ...saying(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-0", { leaderId: undefined }),
    members: NO_LIST,
  };
  expect(awaitQuorum.decide(given)).toMatchObject({
    because: expect.stringMatching(/; missing: my-etcd-1, my-etcd-2$/),
    warn: true,
  });
});

test("await-quorum: a member is missing when a different member answers at its address without a leader", () => {
  const other = saying(cluster(), "my-etcd-0", { leaderId: undefined, memberId: memberIdFromHex("abc") });
  expect(awaitQuorum.decide({ ...other, members: NO_LIST })).toMatchObject({
    because: expect.stringMatching(/; missing: my-etcd-0$/),
  });
});

test("await-quorum: a member with the alarm CORRUPT is missing, although it answers", () => {
  const { id } = cluster().cluster.status!.identity!.initialMembers[0]!;
  const given = { ...withAlarms(cluster(), { type: "CORRUPT", id }), members: NO_LIST };
  expect(awaitQuorum.decide(given)).toMatchObject({
    because: expect.stringMatching(/; missing: my-etcd-0$/),
    warn: true,
  });
});

const joining = withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added");

const arrivals: { name: string; given: ClusterSnapshot; expect: number }[] = [
  {
    name: "every tenth of a second when the container has just started",
    given: dialled(joining, "my-etcd-3", 0),
    expect: 100,
  },
  {
    name: "every second when the container started ten seconds ago",
    given: dialled(joining, "my-etcd-3", 10_000),
    expect: 1_000,
  },
  {
    name: "every two seconds when the container started an hour ago",
    given: dialled(joining, "my-etcd-3", 3_600_000),
    expect: 2_000,
  },
  {
    name: "every five seconds while the learner's pod has no address",
    given: { ...dialled(joining, "my-etcd-3", 0), endpoints: joining.endpoints },
    expect: 5_000,
  },
  { name: "every five seconds while the learner has no pod", given: joining, expect: 5_000 },
];
for (const { name, given, expect: wanted } of arrivals) {
  test(`await-learner: rechecks ${name}`, () => {
    expect(awaitLearner.decide(given)).toMatchObject({ next: "wait", recheckAfterMs: wanted });
  });
}

test("remove-member: reports why a removal is cancelled", () => {
  expect(removeMember.decide(withRemoval(cluster(), "my-etcd-2", "scale-down"))).toMatchObject({
    because: "my-etcd-2 no longer has to be removed",
  });
  expect(removeMember.decide(withRemoval(cluster(), "my-etcd-2", "replacement"))).toMatchObject({
    because: "my-etcd-2 is healthy, or may be",
  });
});
