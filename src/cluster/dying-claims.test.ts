import { expect, test } from "vitest";
import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { isKeptAwake, whyHeldAwake, whyHeldTogether, whyHeldUp } from "#cluster/dying-claims.ts";
import { sleepKeepsMembers } from "#cluster/guards/sleep.ts";
import { isResizing } from "#cluster/members.ts";
import { planCluster } from "#cluster/plan.ts";
import { fallAsleep } from "#cluster/rules/life/fall-asleep.ts";
import { restartMember } from "#cluster/rules/rolling/restart-member.ts";
import { restartStopped } from "#cluster/rules/rolling/restart-stopped.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { changedPeer, cluster } from "#kit/cluster.ts";
import {
  stranger,
  THEIRS,
  withAlarms,
  withDyingClaims,
  withMember,
  withoutClaims,
  withStraggler,
} from "#kit/cluster-changes.ts";
import { NEWER, wanting, withCrashing, withTurn } from "#kit/cluster-rolling.ts";
import { tired, wanted } from "#kit/cluster-sleep.ts";
import { lost as lostMember, STEPS } from "#kit/cluster-steps.ts";

// What a guard promises of it: guards/claims.test.ts. Here: what people read.

test.each<[string, ClusterSnapshot, string | undefined]>([
  [
    "the only member",
    withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
    "claim my-etcd-0 is being deleted, and what is on it goes when its pod ends: 0 of 1 members would be left to take part; have a backup, or the PersistentVolume retained, and delete the pod to give it up",
  ],
  [
    "one of three of whom another one is down",
    withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-0"),
    "claim my-etcd-0 is being deleted, and what is on it goes when its pod ends: 1 of 3 members would be left to take part; have a backup, or the PersistentVolume retained, and delete the pod to give it up",
  ],
  ["one of three", withDyingClaims(cluster(), "my-etcd-0", "my-etcd-1"), undefined],
  ["whose claim stays", withDyingClaims(cluster({ replicas: 2 }), "my-etcd-1"), undefined],
])("the pod of %s ends, or people read why not", (_, given, says) => {
  expect(whyHeldUp(given, "my-etcd-0")).toBe(says);
});

const most = withDyingClaims(tired(), "my-etcd-0", "my-etcd-2");

test("people read why nobody sleeps", () => {
  const why =
    "claims my-etcd-0, my-etcd-2 are being deleted, and what is on it goes when its pod ends: 1 of 3 members would be left with data; have a backup, and set spec.replicas back; with three members or more each is replaced when its pod is deleted, one after another";
  expect(whyHeldAwake(most)).toBe(why);
  expect(fallAsleep.decide(most)).toMatchObject({ next: "remark", because: `members run on: ${why}` });
  expect(whyHeldAwake(withDyingClaims(tired(), "my-etcd-0"))).toBeUndefined();
});

test("while members run on although nobody is wanted, nobody is replaced, and people read what helps", () => {
  const lost = wanted(withDyingClaims(withoutClaims(lostMember, "my-etcd-1"), "my-etcd-0"), 0);
  expect(planCluster(lost)).toMatchObject({
    next: "wait",
    rule: "sleep-keeps-members",
    because: expect.stringContaining(
      "nobody comes or goes before it says how many are wanted (held back: replace-lost)",
    ),
    aside: [{ rule: "fall-asleep", because: expect.stringContaining("set spec.replicas back") }],
  });
  expect(planCluster(wanted(lost, 3))).toMatchObject({ rule: "replace-lost", step: { do: "markRemoval" } });
  expect(sleepKeepsMembers.forbids(tired(), STEPS.removeMember)).toContain("is to sleep as it is");
});

test.each<[string, ClusterSnapshot]>([
  ["has lost its claim", withoutClaims(tired({ down: ["my-etcd-0"] }), "my-etcd-0")],
  ["has never started", wanted(withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false }), 0)],
])("nobody sleeps with one claim that goes where another member %s: it would be one of three with data", (_, given) => {
  expect(whyHeldAwake(given)).toBeUndefined();
  expect(whyHeldAwake(withDyingClaims(given, "my-etcd-1"))).toContain("1 of 3 members would be left with data");
});

test("what a member has that a person has added is its own: once it has started it is one of those that are left", () => {
  const joined = withMember(tired(), THEIRS);
  expect(whyHeldAwake(withDyingClaims(joined, "my-etcd-1"))).toBeUndefined();
  const added = withMember(tired(), stranger());
  expect(whyHeldAwake(withDyingClaims(added, "my-etcd-1"))).toContain("2 of 4 members");
  expect(whyHeldAwake(withDyingClaims(joined, "my-etcd-0", "my-etcd-1"))).toContain("2 of 4 members");
});

test("while members are kept awake none restarts for an edit: what goes with its pod is not replaced, since nobody is wanted", () => {
  const turned = withTurn(wanting(NEWER), "my-etcd-1");
  const awake = wanted(withDyingClaims(turned, "my-etcd-0", "my-etcd-1"), 0);
  expect(planCluster(awake)).toMatchObject({ next: "settled" });
  expect(isKeptAwake(awake)).toBe(true);
  const whole = wanted(withDyingClaims(withTurn(wanting(NEWER), "my-etcd-2"), "my-etcd-0", "my-etcd-1"), 0);
  expect(planCluster(whole)).toMatchObject({ next: "settled" });
  expect(isKeptAwake(wanted(awake, 3))).toBe(false);
  expect(isKeptAwake(tired())).toBe(false);
  // Of these two are left, and would be enough where somebody is wanted.
  expect(whyHeldUp(wanted(awake, 3), "my-etcd-1")).toBeUndefined();
  expect(whyHeldUp(awake, "my-etcd-1")).toContain("1 of 3 members would be left with data");
  expect(whyHeldUp(awake, "my-etcd-2")).toBeUndefined();
});

const all = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const down = all.reduce(
  (given, name) => withTurn(withCrashing(given, name, 60_000), name),
  wanting(NEWER, { down: all }),
);

test("a pod that has to stay keeps no other one from being made anew", () => {
  expect(planCluster(withDyingClaims(down, "my-etcd-0"))).toMatchObject({ step: { name: "my-etcd-1" } });
  expect(planCluster(withDyingClaims(down, ...all))).toMatchObject({
    rule: "dying-claim-is-held",
    because: expect.stringContaining("claim my-etcd-0 is being deleted"),
  });
});

test("nor where fewer are wanted", () => {
  const stopped = ["my-etcd-1", "my-etcd-4"];
  const given = stopped.reduce(
    (before, name) => withTurn(withCrashing(before, name, 60_000), name),
    wanting(NEWER, { replicas: 5, down: stopped }),
  );
  const going = wanted(withDyingClaims(given, ...all, "my-etcd-3"), 2);
  expect(whyHeldUp(going, "my-etcd-1")).toContain("1 of 2 members");
  expect(planCluster(going)).toMatchObject({ rule: "restart-stopped", step: { name: "my-etcd-4" } });
});

test("a pod that has to stay is proposed where nobody is to come or go, or nobody is wanted: its guard holds it, and says so", () => {
  const stopped = withTurn(
    withCrashing(wanting(NEWER, { replicas: 2, down: ["my-etcd-1"] }), "my-etcd-1", 60_000),
    "my-etcd-1",
  );
  // With a voter of somebody else, who is not asked, the two are a quorum without it.
  const joined = withMember({ ...stopped, members: cluster({ replicas: 2 }).members }, THEIRS);
  const held = withDyingClaims(joined, "my-etcd-1");
  expect(restartStopped.decide(held)).toMatchObject({ next: "step", step: { name: "my-etcd-1" } });
  expect(restartStopped.decide(wanted(held, 3))).toMatchObject({ next: "remark" });
  const tiring = withTurn(withCrashing(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1", 60_000), "my-etcd-1");
  const asleep = wanted(withDyingClaims(tiring, "my-etcd-0", "my-etcd-1"), 0);
  expect(restartStopped.decide(asleep)).toMatchObject({ next: "step", step: { name: "my-etcd-1" } });
});

test("where the members cannot be listed nobody comes or goes, and people read what a person has to do, however many are wanted", () => {
  const one = withTurn(
    withCrashing(wanting(NEWER, { replicas: 1, down: ["my-etcd-0"] }), "my-etcd-0", 60_000),
    "my-etcd-0",
  );
  for (const replicas of [1, 3])
    expect(planCluster(wanted(withDyingClaims(one, "my-etcd-0"), replicas))).toMatchObject({
      next: "wait",
      rule: "dying-claim-is-held",
    });
});

test("a member that a person has added is none that is wanted: with it nobody is to come or go", () => {
  const joined = withMember(cluster(), THEIRS);
  expect([isResizing(joined), isResizing(wanted(joined, 4))]).toEqual([false, true]);
});

test("nor is fewer members waited for by it", () => {
  const turned = withDyingClaims(withTurn(wanting(NEWER, { replicas: 2 }), "my-etcd-1"), "my-etcd-1");
  expect(planCluster(turned)).toMatchObject({ next: "wait", rule: "dying-claim-is-held" });
  expect(planCluster(wanted(turned, 1))).toMatchObject({ rule: "scale-down", step: { do: "markRemoval" } });
});

test("nor, where fewer are wanted, does a pod in which nothing runs and that has to stay hold anything but itself", () => {
  const stopped = withTurn(withCrashing(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1", 60_000), "my-etcd-1");
  const going = wanted(withDyingClaims(stopped, "my-etcd-1", "my-etcd-2"), 2);
  expect(planCluster(wanted(going, 3))).toMatchObject({ rule: "restart-stopped", step: { name: "my-etcd-1" } });
  const why = "1 of 2 members would be left whose claims stay";
  const plan = planCluster(withAlarms(going, { type: "NOSPACE", id: "ff" }));
  expect(plan).toMatchObject({ rule: "disarm-alarm" });
  expect(plan.aside).toContainEqual(
    expect.objectContaining({ rule: "restart-stopped", is: "remark", because: expect.stringContaining(why) }),
  );
});

test("where fewer are wanted, a member that has to stay keeps the turn of no other one", () => {
  const turned = withTurn(withTurn(wanting(NEWER), "my-etcd-1"), "my-etcd-0");
  const going = wanted(withDyingClaims(turned, "my-etcd-1", "my-etcd-2"), 2);
  expect(whyHeldUp(going, "my-etcd-1")).toContain("1 of 2 members");
  expect(restartMember.decide(going)).toMatchObject({ step: { do: "moveLeader", from: "my-etcd-0" } });
  expect(restartMember.decide(wanted(going, 3))).toMatchObject({ step: { name: "my-etcd-1" } });
});

test("people read why nobody goes where fewer are wanted, and what helps is done", () => {
  const fewer = wanted(withDyingClaims(cluster(), ...all), 1);
  const why =
    "claims my-etcd-0, my-etcd-1, my-etcd-2 are being deleted, and what is on it goes when its pod ends: 0 of 1 members would be left whose claims stay; have a backup, and set spec.replicas back; with three members or more each is replaced when its pod is deleted, one after another";
  expect(planCluster(fewer)).toMatchObject({ next: "wait", rule: "dying-claim-is-held" });
  expect(whyHeldTogether(fewer, "my-etcd-2")).toBe(why);
  const chosen = changedPeer(fewer, "my-etcd-2", { annotations: { [REMOVAL_ANNOTATION]: "scale-down" } });
  expect(planCluster(chosen)).toMatchObject({
    rule: "remove-member",
    because: "my-etcd-2 need not go any more",
    step: { do: "markRemoval", removal: undefined },
  });
  const gone = withDyingClaims(withoutClaims(lostMember, "my-etcd-1"), "my-etcd-0", "my-etcd-2");
  for (const replicas of [1, 3])
    expect(planCluster(wanted(gone, replicas))).toMatchObject({ rule: "replace-lost", step: { do: "markRemoval" } });
});
