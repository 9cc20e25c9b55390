import { describe, expect, test } from "vitest";
import { forecast } from "#cluster/forecast/forecast.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, sickFor, withArrival, withRemoval } from "#kit/snapshots/cluster.ts";
import {
  downgrading,
  NEWER,
  NEXT_MINOR,
  ON_DELETE,
  silentFor,
  wanting,
  withCrashing,
  withoutPod,
  withStop,
  withTurn,
} from "#kit/snapshots/cluster-rolling.ts";
import { asleep, tired, wanted, woken } from "#kit/snapshots/cluster-sleep.ts";

/** Each step in a few words: its rule, what it does, and the member. */
function steps(snapshot: ClusterSnapshot): readonly string[] {
  return (forecast(snapshot).steps ?? []).map(({ rule, step, member = "" }) => `${rule} ${step} ${member}`.trim());
}

function arriving(name: string, budget: boolean): readonly string[] {
  return [
    `ScaleUp CreatePeer ${name}`,
    `ScaleUp AddLearner ${name}`,
    ...(budget ? ["DisruptionBudget ReplaceBudget"] : []),
    `IdentifyMember ReplacePeer ${name}`,
    `Fence ReplacePeer ${name}`,
    `PromoteLearner Promote ${name}`,
  ];
}

function restarting(name: string, more: readonly string[] = []): readonly string[] {
  return [
    `UpdateMember ReplacePeer ${name}`,
    "DisruptionBudget ReplaceBudget",
    ...more,
    `RestartMember RestartPod ${name}`,
    "DisruptionBudget ReplaceBudget",
  ];
}

/** Steps from three members to two. The budget changes as soon as the third member has no vote. */
const LAST_THIRD = [
  "ScaleDown MarkRemoval my-etcd-2",
  "DisruptionBudget ReplaceBudget",
  "RemoveMember RemoveMember my-etcd-2",
  "DisruptionBudget ReplaceBudget",
  "DeletePeerOfRemoved ReleaseClaim my-etcd-2",
  "DeletePeerOfRemoved DeletePeer my-etcd-2",
  "DisruptionBudget ReplaceBudget",
];

/** Steps that replace a lost member by the next one. */
function replacing(name: string, next: string): readonly string[] {
  return [
    `ReplaceLost MarkRemoval ${name}`,
    `RemoveMember RemoveMember ${name}`,
    `DeletePeerOfRemoved ReleaseClaim ${name}`,
    `DeletePeerOfRemoved DeletePeer ${name}`,
    ...arriving(next, true),
    "DisruptionBudget ReplaceBudget",
  ];
}

const ROLL = [
  ...restarting("my-etcd-2"),
  ...restarting("my-etcd-1"),
  ...restarting("my-etcd-0", ["RestartMember MoveLeader my-etcd-0"]),
];

/** A cluster with a member that has been lost for so long that it is replaced. */
const LOST = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);

describe("forecast: steps", () => {
  const cases: readonly {
    readonly name: string;
    readonly given: ClusterSnapshot;
    readonly steps: readonly string[];
  }[] = [
    { name: "a settled cluster has no steps", given: cluster(), steps: [] },
    {
      name: "members are added one after another",
      given: cluster({ spec: { replicas: 5 } }),
      steps: [...arriving("my-etcd-3", true), ...arriving("my-etcd-4", true), "DisruptionBudget ReplaceBudget"],
    },
    {
      name: "members are removed one after another",
      given: cluster({ replicas: 3, spec: { replicas: 2 } }),
      steps: LAST_THIRD,
    },
    { name: "a new release is rolled out, the leader last", given: wanting(NEXT_MINOR), steps: ROLL },
    {
      name: "the only member gets the new template and restarts",
      given: wanting(NEWER, { replicas: 1 }),
      steps: ["UpdateMember ReplacePeer my-etcd-0", "RestartMember RestartPod my-etcd-0"],
    },
    { name: "a cluster with spec.replicas 0 is put to sleep", given: tired(), steps: ["StartSleep FallAsleep"] },
    { name: "a sleeping cluster has no steps", given: asleep(), steps: [] },
    { name: "all members of a sleeping cluster wake up", given: wanted(asleep(), 3), steps: ["WakeUp WakeUp"] },
    {
      name: "all members wake up before one is removed",
      given: wanted(asleep(), 2),
      steps: ["WakeUp WakeUp", ...LAST_THIRD],
    },
    {
      name: "all members wake up with their old template before they restart with the new one",
      given: wanted(asleep({ spec: NEWER }), 3),
      steps: ["WakeUp WakeUp", ...ROLL],
    },
    {
      name: "members that are still waking up cause no step",
      given: woken({ down: ["my-etcd-0", "my-etcd-1"] }),
      steps: [],
    },
    {
      name: "members are added before others restart",
      given: wanting(NEWER, { spec: { replicas: 4, disruptionBudget: { policy: "None" } } }),
      steps: [
        "DisruptionBudget DeleteBudget",
        ...arriving("my-etcd-3", false),
        ...["my-etcd-3", "my-etcd-2", "my-etcd-1"].flatMap((name) => [
          `UpdateMember ReplacePeer ${name}`,
          `RestartMember RestartPod ${name}`,
        ]),
        "UpdateMember ReplacePeer my-etcd-0",
        "RestartMember MoveLeader my-etcd-0",
        "RestartMember RestartPod my-etcd-0",
      ],
    },
    {
      name: "with OnDelete members get new templates and are not restarted",
      given: wanting(NEWER, { spec: ON_DELETE }),
      steps: ["my-etcd-2", "my-etcd-1", "my-etcd-0"].map((name) => `UpdateMember ReplacePeer ${name}`),
    },
    {
      name: "a learner that has started becomes a voter",
      given: withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "started"),
      steps: arriving("my-etcd-3", false).slice(3),
    },
    {
      name: "a learner that was only added becomes a voter",
      given: withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "added"),
      steps: arriving("my-etcd-3", false).slice(3),
    },
    {
      name: "an update that has begun continues",
      given: withTurn(wanting(NEWER), "my-etcd-2", NEWER, { isTakenOver: false }),
      steps: ROLL.slice(1),
    },
    {
      name: "a restart continues: a missing pod comes back",
      given: withoutPod(withTurn(wanting(NEWER, { down: ["my-etcd-2"] }), "my-etcd-2"), "my-etcd-2"),
      steps: ROLL.slice(3),
    },
    {
      name: "a lost member is replaced",
      given: LOST,
      steps: replacing("my-etcd-1", "my-etcd-3"),
    },
    {
      name: "a lost member without a pod is replaced",
      given: withoutPod(LOST, "my-etcd-1"),
      steps: replacing("my-etcd-1", "my-etcd-3"),
    },
    {
      name: "a removal that has begun continues, because a lost member is not expected back",
      given: withoutPod(withRemoval(LOST, "my-etcd-1", "replacement"), "my-etcd-1"),
      steps: replacing("my-etcd-1", "my-etcd-3").slice(1),
    },
    {
      name: "two lost members are replaced one after another, the longer lost one first",
      given: sickFor(
        sickFor(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }), "my-etcd-1", 400_000),
        "my-etcd-3",
        500_000,
      ),
      steps: [
        ...replacing("my-etcd-3", "").slice(0, 4),
        "ReplaceLost MarkRemoval my-etcd-1",
        "RemoveMember RemoveMember my-etcd-1",
        "DisruptionBudget ReplaceBudget",
        "DeletePeerOfRemoved ReleaseClaim my-etcd-1",
        "DeletePeerOfRemoved DeletePeer my-etcd-1",
        ...arriving("my-etcd-5", true),
        ...arriving("my-etcd-6", true),
        "DisruptionBudget ReplaceBudget",
      ],
    },
    {
      name: "a member that was lost recently causes no step, because it is expected back",
      given: sickFor(LOST, "my-etcd-1", 299_999),
      steps: [],
    },
    {
      name: "a recently lost member without a pod causes no step, because it is expected back",
      given: withoutPod(sickFor(LOST, "my-etcd-1", 299_999), "my-etcd-1"),
      steps: [],
    },
  ];
  test.each(cases)("$name", ({ given, steps: wanted }) => expect(steps(given)).toEqual(wanted));
});

describe("forecast: outcome", () => {
  const cases: readonly { readonly name: string; readonly given: ClusterSnapshot; readonly ends: object }[] = [
    {
      name: "an update has the outcome Done",
      given: wanting(NEWER),
      ends: { outcome: "Done", message: "there is nothing more to do then" },
    },
    {
      name: "restarts are listed by name, in their order",
      given: wanting(NEWER),
      ends: { restarts: ["my-etcd-2", "my-etcd-1", "my-etcd-0"] },
    },
    {
      name: "an update with OnDelete has the outcome Waits, because people restart the members",
      given: wanting(NEWER, { spec: ON_DELETE }),
      ends: {
        outcome: "Waits",
        message: expect.stringMatching(/^UpdateMember: my-etcd-0, my-etcd-1, my-etcd-2 get what the spec asks for/),
      },
    },
    {
      name: "a cluster that is forming has no forecast",
      given: cluster({ stage: "starting" }),
      ends: { outcome: "Waits", message: "no forecast before the cluster has formed" },
    },
    {
      name: "a cluster without a quorum has no forecast",
      given: cluster({ down: ["my-etcd-1", "my-etcd-2"] }),
      ends: { outcome: "Waits", message: expect.stringMatching(/^AwaitQuorum: /) },
    },
    {
      name: "a paused cluster has the outcome Waits",
      given: cluster({ spec: { replicas: 5, paused: true } }),
      ends: { outcome: "Waits", message: "Paused: nothing is changed while spec.paused is true" },
    },
    {
      name: "a version without an upgrade path has the outcome Refused, with the reason",
      given: cluster({ spec: { version: "3.4.35" } }),
      ends: {
        outcome: "Refused",
        message: "the change would be refused, and none of these steps would be done",
        refused: [
          {
            rule: "NoVersionPath",
            message: expect.stringMatching(/^spec\.version is refused: from 3\.6\.16 to 3\.4\.35 is a downgrade/),
          },
        ],
      },
    },
    {
      name: "a refused version does not hold back other changes",
      given: cluster({ spec: { version: "3.4.35", replicas: 4 } }),
      ends: { outcome: "Done", refused: [expect.objectContaining({ rule: "NoVersionPath" })] },
    },
    {
      name: "a downgrade begins with etcd's own downgrade",
      given: cluster({ spec: { version: "3.5.35" } }),
      ends: {
        outcome: "Done",
        restarts: ["my-etcd-2", "my-etcd-1", "my-etcd-0"],
        steps: expect.arrayContaining([expect.objectContaining({ step: "EnableDowngrade" })]),
      },
    },
    {
      name: "a downgrade that is no longer wanted is cancelled",
      given: downgrading(cluster()),
      ends: { outcome: "Done", steps: [expect.objectContaining({ step: "CancelDowngrade" })] },
    },
    {
      name: "a pod template that the operator does not allow has the outcome Refused",
      given: wanting({ ...NEWER, podTemplate: { spec: { hostNetwork: true } } }),
      ends: {
        outcome: "Refused",
        refused: [{ rule: "RefusedSpec", message: expect.stringContaining("hostNetwork") }],
      },
    },
    {
      name: "an update that has stopped has the outcome Refused",
      given: withStop(wanting(NEWER), "my-etcd-2"),
      ends: { outcome: "Refused", refused: [expect.objectContaining({ rule: "RollBackMember" })] },
    },
    {
      name: "a crashing member without a new template has the outcome Waits",
      given: withCrashing(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 60_000),
      ends: { outcome: "Waits", message: "AwaitHealth: waiting for my-etcd-1 to be healthy again" },
    },
    {
      name: "a crashing member gets its new template first, because that may repair it",
      given: withCrashing(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1", 60_000),
      ends: { outcome: "Done", restarts: ["my-etcd-1", "my-etcd-2", "my-etcd-0"] },
    },
    {
      name: "a member that has been silent for long has the outcome Waits",
      given: silentFor(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-1", 600_000),
      ends: { outcome: "Waits", message: expect.stringContaining("my-etcd-1 must be healthy") },
    },
    {
      name: "a member that has been silent for a moment does not change the outcome Done",
      given: sickFor(cluster({ spec: { replicas: 4 }, down: ["my-etcd-1"] }), "my-etcd-1", 1_000),
      ends: { outcome: "Done" },
    },
  ];
  test.each(cases)("$name", ({ given, ends }) => expect(forecast(given)).toMatchObject(ends));

  test("a forecast without steps and restarts has no empty lists", () => {
    expect(forecast(cluster())).toEqual({ outcome: "Done", message: "there is nothing more to do then" });
  });

  test("a step in the forecast has the message of the step's event", () => {
    expect(forecast(wanting(NEWER)).steps?.[0]).toEqual({
      rule: "UpdateMember",
      step: "ReplacePeer",
      member: "my-etcd-2",
      message: "my-etcd-2 is updated next: it gets etcd 3.6.17 instead of 3.6.16; 2 more members follow",
    });
  });
});

test("forecast: growth from one member to seven with a new release is predicted completely", () => {
  const { outcome, restarts } = forecast(wanting(NEWER, { replicas: 1, spec: { replicas: 7 } }));
  expect([outcome, restarts]).toEqual(["Done", [6, 5, 4, 3, 2, 1, 0].map((n) => `my-etcd-${n}`)]);
});
