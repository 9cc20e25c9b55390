import { describe, expect, test } from "vitest";
import { WAIVE_ANNOTATION } from "#api/names.ts";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import { progressing } from "#cluster/readiness/progressing.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, NOW } from "#kit/snapshots/cluster.ts";
import {
  madeFrom,
  NEWER,
  NOT_READY,
  saying,
  wanting,
  withCanary,
  withPod,
  withRestarted,
  withTurn,
  withUpdate,
} from "#kit/snapshots/cluster-rolling.ts";

const SOON = "2026-01-01T12:00:01Z"; // one second after the snapshots were taken
const OVER = "2026-01-01T12:00:00Z";

/** The snapshot with this waiver. */
function waiving(snapshot: ClusterSnapshot, text: string): ClusterSnapshot {
  const metadata = { ...snapshot.cluster.metadata, annotations: { [WAIVE_ANNOTATION]: text } };
  return { ...snapshot, cluster: { ...snapshot.cluster, metadata } };
}

/** An update of five members that has not begun, with a fault of my-etcd-1. */
const FIVE = wanting(NEWER, { replicas: 5 });
const UNREADY = withPod(FIVE, "my-etcd-1", NOT_READY);
const BEHIND = ["my-etcd-0", "my-etcd-2", "my-etcd-3", "my-etcd-4"].reduce(
  (given, name) => saying(given, name, { raftIndex: 5_000, raftAppliedIndex: 5_000 }),
  FIVE,
);
const DOWN = wanting(NEWER, { replicas: 5, down: ["my-etcd-1"] });

function turned(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withTurn(snapshot, "my-etcd-4");
}

function unsettled(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { budget } = snapshot;
  return { ...snapshot, budget: { ...budget, status: { observedGeneration: 0 } } as typeof budget };
}

interface Case {
  readonly name: string;
  readonly given: ClusterSnapshot;
  /** Waivers that help, and waivers that do not. */
  readonly waiver: string;
  /** The rule or guard that decides without the waiver, and with it. */
  readonly says: readonly [string, string];
}

describe("waivers", () => {
  const cases: readonly Case[] = [
    {
      name: "with MembersReady an update continues beside a pod that is not Ready",
      given: UNREADY,
      waiver: "MembersReady",
      says: ["wait update-member", "step update-member"],
    },
    {
      name: "with MembersReady a restart continues beside a pod that is not Ready",
      given: turned(UNREADY),
      waiver: "MembersReady",
      says: ["wait restart-member", "step restart-member"],
    },
    {
      name: "with MembersCaughtUp an update continues beside a member that lags behind",
      given: BEHIND,
      waiver: "MembersCaughtUp",
      says: ["wait update-member", "step update-member"],
    },
    {
      name: "with MembersCaughtUp a restart continues beside a member that lags behind",
      given: turned(BEHIND),
      waiver: "MembersCaughtUp",
      says: ["wait restart-member", "step restart-member"],
    },
    {
      name: "with MembersHealthy an update continues while a member is down",
      given: DOWN,
      waiver: "MembersHealthy",
      says: ["wait update-member", "step update-member"],
    },
    {
      name: "with MembersHealthy a restart continues while a member is down",
      given: turned(DOWN),
      waiver: "MembersHealthy",
      says: ["wait one-at-a-time", "step restart-member"],
    },
    {
      name: "with EvictionsHeldBack a restart continues before the PodDisruptionBudget is observed",
      given: begin(FIVE).apply(turned).apply(unsettled).snapshot,
      waiver: "EvictionsHeldBack",
      says: ["wait restart-member", "step restart-member"],
    },
  ];
  const saidBy = (snapshot: ClusterSnapshot) => {
    const plan = planCluster(snapshot);
    return plan.next === "settled" ? "settled" : `${plan.next} ${plan.rule}`;
  };
  const because = (snapshot: ClusterSnapshot) => {
    const plan = planCluster(snapshot);
    return plan.next === "settled" ? "" : plan.because;
  };
  for (const { name, given, waiver, says } of cases) {
    const others = ["MembersHealthy", "MembersReady", "MembersCaughtUp", "EvictionsHeldBack"].filter(
      (each) => each !== waiver,
    );
    test(name, () => {
      expect(saidBy(given)).toBe(says[0]);
      expect(saidBy(waiving(given, `${waiver} until ${SOON}`))).toBe(says[1]);
    });
    test(`${name}: the event names the waiver and its end`, () => {
      const all = [waiver, ...others].map((each) => `${each} until ${SOON}`).join();
      for (const text of [`${waiver} until ${SOON}`, all])
        expect(
          because(waiving(given, text))
            .split("; ")
            .filter((part) => part.includes("waived")),
        ).toEqual([`${waiver} is waived until ${SOON}`]);
    });
    test(`${name}: an expired waiver has no effect`, () =>
      expect(saidBy(waiving(given, `${waiver} until ${OVER}`))).toBe(says[0]));
    test(`${name}: other waivers have no effect`, () => {
      expect(saidBy(waiving(given, others.map((each) => `${each} until ${SOON}`).join()))).toBe(says[0]);
    });
  }

  test("a step that needs two waivers names both", () => {
    const both = withPod(BEHIND, "my-etcd-1", NOT_READY);
    expect(saidBy(waiving(both, `MembersReady until ${SOON}`))).toBe("wait update-member");
    const given = waiving(both, `MembersReady until ${SOON},MembersCaughtUp until ${SOON}`);
    expect(because(given)).toMatch(/MembersReady is waived until .*; MembersCaughtUp is waived until/);
  });

  test("an unused waiver is not named", () => {
    expect(because(waiving(FIVE, `MembersReady until ${SOON}`))).toMatch(/; 4 more members follow$/);
  });

  test("no waiver allows a restart that loses the quorum", () => {
    const two = waiving(
      wanting(NEWER, { replicas: 5, down: ["my-etcd-1", "my-etcd-2"] }),
      `MembersHealthy until ${SOON}`,
    );
    expect(saidBy(two)).toBe("wait restart-keeps-quorum");
    expect(saidBy(turned(two))).toBe("wait restart-keeps-quorum");
  });

  test("no waiver allows a restart while an eviction is granted", () => {
    const given = begin(FIVE).apply(turned).apply(unsettled).snapshot;
    const status = { observedGeneration: 0, disruptedPods: { "my-etcd-1-abcde": "2026-01-01T12:00:00Z" } };
    const granted = { ...given, budget: { ...given.budget, status } as unknown as typeof given.budget };
    expect(saidBy(waiving(granted, `EvictionsHeldBack until ${SOON}`))).toBe("wait restart-member");
  });

  test("no waiver allows a restart before the PodDisruptionBudget blocks evictions", () => {
    const given = { ...turned(FIVE), budget: FIVE.budget };
    const rule = CLUSTER_RULES.find(({ name }) => name === "restart-member")!;
    expect(rule.decide(waiving(given, `EvictionsHeldBack until ${SOON}`))?.next).toBe("wait");
  });

  test("a waiver for more than 7 days is ignored and reported", () => {
    const given = waiving(UNREADY, "MembersReady until 2026-01-08T12:00:01Z");
    expect(saidBy(given)).toBe("wait update-member");
    expect(progressing({ snapshot: given, plan: planCluster(given), members: [], own: [] }).message).toMatch(
      /waive is ignored: .* would hold for too long; it must end within 7 days$/,
    );
    expect(saidBy(waiving(UNREADY, "MembersReady until 2026-01-08T12:00:00Z"))).toBe("step update-member");
  });

  test("MembersReady does not cover a pod without a recorded revision", () => {
    const given = begin(FIVE)
      .apply(madeFrom, "my-etcd-1", undefined)
      .apply(waiving, `MembersReady until ${SOON}`).snapshot;
    expect(saidBy(given)).toBe("wait update-member");
  });
});

describe("no waiver covers the canary", () => {
  const all = ["MembersHealthy", "MembersReady", "MembersCaughtUp"].map((each) => `${each} until ${SOON}`).join();
  const says = (snapshot: ClusterSnapshot) => {
    const plan = planCluster(waiving(snapshot, all));
    return plan.next === "settled" ? "settled" : `${plan.next} ${plan.rule}: ${plan.because}`;
  };
  const crashed = withCanary(FIVE, "my-etcd-4");
  const unready = begin(FIVE)
    .apply(withRestarted, "my-etcd-4")
    .apply(withPod, "my-etcd-4", NOT_READY)
    .apply(withUpdate).snapshot;
  const late = begin(FIVE)
    .apply(withRestarted, "my-etcd-4")
    .apply(withUpdate)
    .apply(saying, "my-etcd-0", { raftIndex: 5_000 }).snapshot;
  const seven = withCanary(wanting(NEWER, { replicas: 7, down: ["my-etcd-1"] }), "my-etcd-6");
  const cases: { name: string; given: ClusterSnapshot; because: RegExp }[] = [
    {
      name: "an update waits for a canary that does not answer",
      given: crashed,
      because: /^wait update-member: the update of my-etcd-3 waits until my-etcd-4 is healthy$/,
    },
    {
      name: "an update waits for a canary that is not Ready",
      given: unready,
      because: /^wait update-member: the update of my-etcd-3 waits until my-etcd-4 has a Ready pod$/,
    },
    {
      name: "an update waits for a canary that lags behind",
      given: late,
      because: /^wait update-member: the update of my-etcd-3 waits until my-etcd-4 has caught up with the others$/,
    },
    {
      name: "a restart waits for a canary that is not Ready",
      given: withTurn(unready, "my-etcd-3"),
      because: /^wait restart-member: my-etcd-3 restarts once my-etcd-4 has a Ready pod$/,
    },
    {
      name: "a restart waits for a canary that does not answer, also when another member is down",
      given: withTurn(seven, "my-etcd-5"),
      because: /^wait one-at-a-time: .*my-etcd-6 does not participate in the quorum/,
    },
    {
      name: "after the update is proven, a waiver covers the first updated member, too",
      given: withUpdate(crashed, { proven: true }),
      because: /^step update-member: my-etcd-3 is updated next.*; MembersHealthy is waived until/,
    },
  ];
  for (const { name, given, because } of cases) test(name, () => expect(says(given)).toMatch(because));
});

describe("report of waivers", () => {
  const status = (text: string, snapshot = cluster()) => clusterStatus(waiving(snapshot, text), { next: "settled" });
  const message = (text: string) =>
    progressing({ snapshot: waiving(cluster(), text), plan: { next: "settled" }, members: [], own: [] }).message;

  test("the status lists active waivers with their end, and no expired ones", () => {
    const text = `MembersReady until ${SOON}, MembersHealthy until ${OVER}, MembersCaughtUp until 2026-01-01T14:00:00+01:00`;
    expect(status(text).waivers).toEqual([
      { check: "MembersReady", until: SOON },
      { check: "MembersCaughtUp", until: "2026-01-01T13:00:00Z" },
    ]);
    const twice = [`MembersReady until ${SOON}`, "MembersReady until 2026-01-01T12:00:03Z"];
    for (const each of [twice, twice.toReversed()])
      expect(status(each.join()).waivers).toEqual([{ check: "MembersReady", until: "2026-01-01T12:00:03Z" }]);
    expect(status(`MembersReady until ${OVER}`)).not.toHaveProperty("waivers");
    expect(NOW).toBe(Date.parse(OVER));
  });

  test("Progressing names active and ignored waivers", () => {
    expect(message(`MembersReady until ${SOON}`)).toBe(`there is nothing to do; waived: MembersReady until ${SOON}`);
    expect(message(`MembersReady until ${OVER}`)).toBe("there is nothing to do");
    expect(message(`keep-quorum until ${SOON}`)).toMatch(
      /^there is nothing to do; etcd\.improbable\.io\/waive is ignored: "keep-quorum" cannot be waived; only these can/,
    );
  });
});
