import { expect, test } from "vitest";
import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { sleepKeepsMembers } from "#cluster/lifecycle/guards.ts";
import { startSleep } from "#cluster/lifecycle/rules/start-sleep.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { restartMember } from "#cluster/update/rules/restart-member.ts";
import { restartStopped } from "#cluster/update/rules/restart-stopped.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { changedPeer, cluster, withBudget } from "#kit/snapshots/cluster.ts";
import {
  stranger,
  THEIRS,
  withAlarms,
  withDyingClaims,
  withMember,
  withoutClaims,
  withStraggler,
} from "#kit/snapshots/cluster-changes.ts";
import { NEWER, wanting, withCrashing, withTurn } from "#kit/snapshots/cluster-rolling.ts";
import { tired, wanted } from "#kit/snapshots/cluster-sleep.ts";
import { lost as lostMember, STEPS } from "#kit/snapshots/cluster-steps.ts";
import { isSleepHeld, whyRestartHeld, whyScaleDownHeld, whySleepHeld } from "./dying-claims.ts";
import { isResizing } from "./members.ts";

// The messages. The guard itself: claim-guards.test.ts.

test.each<[string, ClusterSnapshot, string | undefined]>([
  [
    "with a terminating claim is held when it is the only member",
    withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
    "claim my-etcd-0 is being deleted, and its data is lost when its pod ends: 0 of 1 members would be left in the quorum; make a backup, or retain the PersistentVolume; then delete the pod, which deletes the data",
  ],
  [
    "with a terminating claim is held when a second of three members is down",
    withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-0"),
    "claim my-etcd-0 is being deleted, and its data is lost when its pod ends: 1 of 3 members would be left in the quorum; make a backup, or retain the PersistentVolume; then delete the pod, which deletes the data",
  ],
  [
    "with a terminating claim is not held when both other members are healthy",
    withDyingClaims(cluster(), "my-etcd-0", "my-etcd-1"),
    undefined,
  ],
  [
    "is not held when only another member's claim is terminating",
    withDyingClaims(cluster({ replicas: 2 }), "my-etcd-1"),
    undefined,
  ],
])("the restart of a member %s", (_, given, says) => {
  expect(whyRestartHeld(given, "my-etcd-0")).toBe(says);
});

const most = withDyingClaims(tired(), "my-etcd-0", "my-etcd-2");

test("start-sleep reports which terminating claims keep the cluster from sleeping", () => {
  const why =
    "claims my-etcd-0, my-etcd-2 are being deleted, and their data is lost when their pods end: 1 of 3 members would be left with data; make a backup and restore the previous spec.replicas. With three or more members, then delete their pods one after another: each member is replaced";
  expect(whySleepHeld(most)).toBe(why);
  expect(startSleep.decide(most)).toMatchObject({ next: "notice", because: `members continue to run: ${why}` });
  expect(whySleepHeld(withDyingClaims(tired(), "my-etcd-0"))).toBeUndefined();
});

test("with replicas 0 and a terminating claim, no lost member is replaced, and the plan gives advice", () => {
  const lost = begin(lostMember)
    .apply(withoutClaims, "my-etcd-1")
    .apply(withDyingClaims, "my-etcd-0")
    .apply(wanted, 0).snapshot;
  expect(planCluster(lost)).toMatchObject({
    next: "wait",
    rule: "sleep-keeps-members",
    because: expect.stringContaining("the membership changes only when it is 1 or more (held back: replace-lost)"),
    reports: [{ rule: "start-sleep", because: expect.stringContaining("restore the previous spec.replicas") }],
  });
  expect(planCluster(wanted(lost, 3))).toMatchObject({ rule: "replace-lost", step: { do: "markRemoval" } });
  expect(sleepKeepsMembers.forbids(tired(), STEPS.removeMember)).toContain("is to sleep as it is");
});

test.each<[string, ClusterSnapshot]>([
  ["lost its claim", withoutClaims(tired({ down: ["my-etcd-0"] }), "my-etcd-0")],
  [
    "never started",
    begin(cluster({ down: ["my-etcd-2"] }))
      .apply(withStraggler, { started: false })
      .apply(wanted, 0).snapshot,
  ],
])("one terminating claim of three prevents sleep when a second member %s", (_, given) => {
  expect(whySleepHeld(given)).toBeUndefined();
  expect(whySleepHeld(withDyingClaims(given, "my-etcd-1"))).toContain("1 of 3 members would be left with data");
});

test("whySleepHeld counts the data of a member that was added by hand once it has started", () => {
  const joined = withMember(tired(), THEIRS);
  expect(whySleepHeld(withDyingClaims(joined, "my-etcd-1"))).toBeUndefined();
  const added = withMember(tired(), stranger());
  expect(whySleepHeld(withDyingClaims(added, "my-etcd-1"))).toContain("2 of 4 members");
  expect(whySleepHeld(withDyingClaims(joined, "my-etcd-0", "my-etcd-1"))).toContain("2 of 4 members");
});

test("no update restarts a member while terminating claims prevent sleep", () => {
  const turned = withTurn(wanting(NEWER), "my-etcd-1");
  const awake = begin(turned).apply(withDyingClaims, "my-etcd-0", "my-etcd-1").apply(wanted, 0).snapshot;
  expect(planCluster(awake)).toMatchObject({ next: "settled" });
  expect(isSleepHeld(awake)).toBe(true);
  const whole = begin(wanting(NEWER))
    .apply(withTurn, "my-etcd-2")
    .apply(withDyingClaims, "my-etcd-0", "my-etcd-1")
    .apply(wanted, 0).snapshot;
  expect(planCluster(whole)).toMatchObject({ next: "settled" });
  expect(isSleepHeld(wanted(awake, 3))).toBe(false);
  expect(isSleepHeld(tired())).toBe(false);
  // Two of these are left, enough if any member were wanted.
  expect(whyRestartHeld(wanted(awake, 3), "my-etcd-1")).toBeUndefined();
  expect(whyRestartHeld(awake, "my-etcd-1")).toContain("1 of 3 members would be left with data");
  expect(whyRestartHeld(awake, "my-etcd-2")).toBeUndefined();
});

const all = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const down = all.reduce(
  (given, name) => begin(given).apply(withCrashing, name, 60_000).apply(withTurn, name).snapshot,
  wanting(NEWER, { down: all }),
);

test("a crashing pod held for its terminating claim does not block the restart of other crashing pods", () => {
  expect(planCluster(withDyingClaims(down, "my-etcd-0"))).toMatchObject({ step: { name: "my-etcd-1" } });
  expect(planCluster(withDyingClaims(down, ...all))).toMatchObject({
    rule: "dying-claim-is-held",
    because: expect.stringContaining("claim my-etcd-0 is being deleted"),
  });
});

test("a pod held for its terminating claim does not block restarts of other pods while scaling down", () => {
  const stopped = ["my-etcd-1", "my-etcd-4"];
  const given = stopped.reduce(
    (before, name) => begin(before).apply(withCrashing, name, 60_000).apply(withTurn, name).snapshot,
    wanting(NEWER, { replicas: 5, down: stopped }),
  );
  const going = begin(given)
    .apply(withDyingClaims, ...all, "my-etcd-3")
    .apply(wanted, 2).snapshot;
  expect(whyRestartHeld(going, "my-etcd-1")).toContain("1 of 2 members");
  expect(planCluster(going)).toMatchObject({ rule: "restart-stopped", step: { name: "my-etcd-4" } });
});

test("restart-stopped proposes a held restart unless the cluster is scaling, and the guard reports why", () => {
  const stopped = begin(wanting(NEWER, { replicas: 2, down: ["my-etcd-1"] }))
    .apply(withCrashing, "my-etcd-1", 60_000)
    .apply(withTurn, "my-etcd-1").snapshot;
  // With a foreign voter, which is not dialled, the two are a quorum without it.
  const joined = withMember({ ...stopped, members: cluster({ replicas: 2 }).members }, THEIRS);
  const held = withDyingClaims(joined, "my-etcd-1");
  expect(restartStopped.decide(held)).toMatchObject({ next: "step", step: { name: "my-etcd-1" } });
  expect(restartStopped.decide(wanted(held, 3))).toMatchObject({ next: "notice" });
  const tiring = begin(wanting(NEWER, { down: ["my-etcd-1"] }))
    .apply(withCrashing, "my-etcd-1", 60_000)
    .apply(withTurn, "my-etcd-1").snapshot;
  const asleep = begin(tiring).apply(withDyingClaims, "my-etcd-0", "my-etcd-1").apply(wanted, 0).snapshot;
  expect(restartStopped.decide(asleep)).toMatchObject({ next: "step", step: { name: "my-etcd-1" } });
});

test("without a quorum, a restart held for a terminating claim is reported whatever spec.replicas is", () => {
  const one = begin(wanting(NEWER, { replicas: 1, down: ["my-etcd-0"] }))
    .apply(withCrashing, "my-etcd-0", 60_000)
    .apply(withTurn, "my-etcd-0").snapshot;
  for (const replicas of [1, 3])
    expect(
      planCluster(begin(one).apply(withDyingClaims, "my-etcd-0").apply(wanted, replicas).apply(withBudget).snapshot),
    ).toMatchObject({
      next: "wait",
      rule: "dying-claim-is-held",
    });
});

test("isResizing ignores a member that was added by hand", () => {
  const joined = withMember(cluster(), THEIRS);
  expect([isResizing(joined), isResizing(wanted(joined, 4))]).toEqual([false, true]);
});

test("a restart held for a terminating claim does not delay a scale-down", () => {
  const turned = begin(wanting(NEWER, { replicas: 2 }))
    .apply(withTurn, "my-etcd-1")
    .apply(withDyingClaims, "my-etcd-1").snapshot;
  expect(planCluster(turned)).toMatchObject({ next: "wait", rule: "dying-claim-is-held" });
  expect(planCluster(begin(turned).apply(wanted, 1).apply(withBudget).snapshot)).toMatchObject({
    rule: "scale-down",
    step: { do: "markRemoval" },
  });
});

test("while scaling down, a restart held for a terminating claim is a notice and does not block other rules", () => {
  const stopped = begin(wanting(NEWER, { down: ["my-etcd-1"] }))
    .apply(withCrashing, "my-etcd-1", 60_000)
    .apply(withTurn, "my-etcd-1").snapshot;
  const going = begin(stopped).apply(withDyingClaims, "my-etcd-1", "my-etcd-2").apply(wanted, 2).snapshot;
  expect(planCluster(wanted(going, 3))).toMatchObject({ rule: "restart-stopped", step: { name: "my-etcd-1" } });
  const why = "1 of 2 members would be left with claims that stay";
  const plan = planCluster(withAlarms(going, { type: "NOSPACE", id: "ff" }));
  expect(plan).toMatchObject({ rule: "disarm-alarm" });
  expect(plan.reports).toContainEqual(
    expect.objectContaining({ rule: "restart-stopped", is: "notice", because: expect.stringContaining(why) }),
  );
});

test("while scaling down, a member held for its terminating claim does not block the update of other members", () => {
  const turned = begin(wanting(NEWER)).apply(withTurn, "my-etcd-1").apply(withTurn, "my-etcd-0").snapshot;
  const going = begin(turned).apply(withDyingClaims, "my-etcd-1", "my-etcd-2").apply(wanted, 2).snapshot;
  expect(whyRestartHeld(going, "my-etcd-1")).toContain("1 of 2 members");
  expect(restartMember.decide(going)).toMatchObject({ step: { do: "moveLeader", from: "my-etcd-0" } });
  expect(restartMember.decide(wanted(going, 3))).toMatchObject({ step: { name: "my-etcd-1" } });
});

test("terminating claims hold back a scale-down but not the replacement of a lost member", () => {
  const fewer = begin(cluster())
    .apply(withDyingClaims, ...all)
    .apply(wanted, 1).snapshot;
  const why =
    "claims my-etcd-0, my-etcd-1, my-etcd-2 are being deleted, and their data is lost when their pods end: 0 of 1 members would be left with claims that stay; make a backup and restore the previous spec.replicas. With three or more members, then delete their pods one after another: each member is replaced";
  expect(planCluster(fewer)).toMatchObject({ next: "wait", rule: "dying-claim-is-held" });
  expect(whyScaleDownHeld(fewer, "my-etcd-2")).toBe(why);
  const chosen = changedPeer(fewer, "my-etcd-2", { annotations: { [REMOVAL_ANNOTATION]: "scale-down" } });
  expect(planCluster(chosen)).toMatchObject({
    rule: "remove-member",
    because: "my-etcd-2 no longer has to be removed",
    step: { do: "markRemoval", removal: undefined },
  });
  const gone = begin(lostMember)
    .apply(withoutClaims, "my-etcd-1")
    .apply(withDyingClaims, "my-etcd-0", "my-etcd-2").snapshot;
  for (const replicas of [1, 3])
    expect(planCluster(wanted(gone, replicas))).toMatchObject({ rule: "replace-lost", step: { do: "markRemoval" } });
});
