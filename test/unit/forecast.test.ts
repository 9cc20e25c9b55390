import { describe, expect, test } from "vitest";
import { forecast } from "#cluster/forecast/forecast.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, sickFor, withArrival, withRemoval } from "#kit/cluster.ts";
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
} from "#kit/cluster-rolling.ts";
import { asleep, tired, wanted, woken } from "#kit/cluster-sleep.ts";

/** Each step in a few words: the rule, what it does, and to whom. */
function steps(snapshot: ClusterSnapshot): readonly string[] {
  return (forecast(snapshot).steps ?? []).map(({ rule, step, member = "" }) => `${rule} ${step} ${member}`.trim());
}

function arriving(name: string, budget: boolean): readonly string[] {
  return [
    `scale-up createPeer ${name}`,
    `scale-up addLearner ${name}`,
    ...(budget ? ["disruption-budget replaceBudget"] : []),
    `identify-member replacePeer ${name}`,
    `fence replacePeer ${name}`,
    `promote-learner promote ${name}`,
  ];
}

function restarting(name: string, more: readonly string[] = []): readonly string[] {
  return [
    `give-turn replacePeer ${name}`,
    "disruption-budget replaceBudget",
    ...more,
    `restart-member restartPod ${name}`,
    "disruption-budget replaceBudget",
  ];
}

function leaving(name: string): readonly string[] {
  return [
    `scale-down markRemoval ${name}`,
    "disruption-budget replaceBudget",
    `remove-member removeMember ${name}`,
    `retire-peer releaseClaim ${name}`,
    `retire-peer deletePeer ${name}`,
  ];
}

/** How one that is lost is replaced by the next one. */
function replacing(name: string, next: string): readonly string[] {
  return [
    `replace-lost markRemoval ${name}`,
    `remove-member removeMember ${name}`,
    `retire-peer releaseClaim ${name}`,
    `retire-peer deletePeer ${name}`,
    ...arriving(next, true),
    "disruption-budget replaceBudget",
  ];
}

const ROLL = [
  ...restarting("my-etcd-2"),
  ...restarting("my-etcd-1"),
  ...restarting("my-etcd-0", ["restart-member moveLeader my-etcd-0"]),
];

/** One whose second member is given up. */
const LOST = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);

describe("forecast: what is going to be done, step by step", () => {
  const cases: readonly {
    readonly name: string;
    readonly given: ClusterSnapshot;
    readonly steps: readonly string[];
  }[] = [
    { name: "nothing of a settled cluster", given: cluster(), steps: [] },
    {
      name: "more members come one after another",
      given: cluster({ spec: { replicas: 5 } }),
      steps: [...arriving("my-etcd-3", true), ...arriving("my-etcd-4", true), "disruption-budget replaceBudget"],
    },
    {
      name: "fewer members go one after another",
      given: cluster({ replicas: 3, spec: { replicas: 2 } }),
      steps: [...leaving("my-etcd-2"), "disruption-budget replaceBudget"],
    },
    { name: "another release is rolled out, the leader last", given: wanting(NEXT_MINOR), steps: ROLL },
    {
      name: "the only member restarts, and is there again",
      given: wanting(NEWER, { replicas: 1 }),
      steps: restarting("my-etcd-0"),
    },
    { name: "a cluster falls asleep", given: tired(), steps: ["fall-asleep fallAsleep"] },
    { name: "nothing of one that sleeps", given: asleep(), steps: [] },
    { name: "all who slept wake", given: wanted(asleep(), 3), steps: ["wake-up wakeUp"] },
    {
      name: "all who slept wake before anybody goes",
      given: wanted(asleep(), 2),
      steps: ["wake-up wakeUp", ...leaving("my-etcd-2"), "disruption-budget replaceBudget"],
    },
    {
      name: "all who slept wake as they were before they restart with something new",
      given: wanted(asleep({ spec: NEWER }), 3),
      steps: ["wake-up wakeUp", ...ROLL],
    },
    { name: "those who have yet to come up do", given: woken({ down: ["my-etcd-0", "my-etcd-1"] }), steps: [] },
    {
      name: "members are added before others restart",
      given: wanting(NEWER, { spec: { replicas: 4, disruptionBudget: "None" } }),
      steps: [
        "disruption-budget deleteBudget",
        ...arriving("my-etcd-3", false),
        ...["my-etcd-3", "my-etcd-2", "my-etcd-1"].flatMap((name) => [
          `give-turn replacePeer ${name}`,
          `restart-member restartPod ${name}`,
        ]),
        "give-turn replacePeer my-etcd-0",
        "restart-member moveLeader my-etcd-0",
        "restart-member restartPod my-etcd-0",
      ],
    },
    {
      name: "people restart members",
      given: wanting(NEWER, { spec: ON_DELETE }),
      steps: ["my-etcd-2", "my-etcd-1", "my-etcd-0"].map((name) => `give-turn replacePeer ${name}`),
    },
    {
      name: "a learner that is under way arrives",
      given: withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "started"),
      steps: arriving("my-etcd-3", false).slice(3),
    },
    {
      name: "a learner that was added, too",
      given: withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "added"),
      steps: arriving("my-etcd-3", false).slice(3),
    },
    {
      name: "a turn that was given goes on",
      given: withTurn(wanting(NEWER), "my-etcd-2", NEWER, { isTakenOver: false }),
      steps: ROLL.slice(1),
    },
    {
      name: "so does a restart: a pod that is missing comes back",
      given: withoutPod(withTurn(wanting(NEWER, { down: ["my-etcd-2"] }), "my-etcd-2"), "my-etcd-2"),
      steps: ROLL.slice(3),
    },
    {
      name: "who is given up is replaced",
      given: LOST,
      steps: replacing("my-etcd-1", "my-etcd-3"),
    },
    {
      name: "so is one that has no pod",
      given: withoutPod(LOST, "my-etcd-1"),
      steps: replacing("my-etcd-1", "my-etcd-3"),
    },
    {
      name: "a removal that has begun goes on: who is given up does not come back meanwhile",
      given: withoutPod(withRemoval(LOST, "my-etcd-1", "replacement"), "my-etcd-1"),
      steps: replacing("my-etcd-1", "my-etcd-3").slice(1),
    },
    {
      name: "two that are given up are replaced one after another, who is lost for longer first",
      given: sickFor(
        sickFor(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }), "my-etcd-1", 400_000),
        "my-etcd-3",
        500_000,
      ),
      steps: [
        ...replacing("my-etcd-3", "").slice(0, 4),
        "replace-lost markRemoval my-etcd-1",
        "remove-member removeMember my-etcd-1",
        "disruption-budget replaceBudget",
        "retire-peer releaseClaim my-etcd-1",
        "retire-peer deletePeer my-etcd-1",
        ...arriving("my-etcd-5", true),
        ...arriving("my-etcd-6", true),
        "disruption-budget replaceBudget",
      ],
    },
    { name: "who is lost for less comes back", given: sickFor(LOST, "my-etcd-1", 299_999), steps: [] },
    {
      name: "so does one whose pod has yet to be made",
      given: withoutPod(sickFor(LOST, "my-etcd-1", 299_999), "my-etcd-1"),
      steps: [],
    },
  ];
  test.each(cases)("$name", ({ given, steps: wanted }) => expect(steps(given)).toEqual(wanted));
});

describe("forecast: how it ends", () => {
  const cases: readonly { readonly name: string; readonly given: ClusterSnapshot; readonly ends: object }[] = [
    {
      name: "all is done",
      given: wanting(NEWER),
      ends: { outcome: "Done", message: "there is nothing more to do then" },
    },
    {
      name: "with restarts by name, in their order",
      given: wanting(NEWER),
      ends: { restarts: ["my-etcd-2", "my-etcd-1", "my-etcd-0"] },
    },
    {
      name: "people are waited for",
      given: wanting(NEWER, { spec: ON_DELETE }),
      ends: {
        outcome: "Waits",
        message: expect.stringMatching(/^give-turn: my-etcd-0, my-etcd-1, my-etcd-2 get what the spec asks for/),
      },
    },
    {
      name: "a cluster that forms is not foretold",
      given: cluster({ stage: "starting" }),
      ends: { outcome: "Waits", message: "nothing can be foretold before the cluster has formed" },
    },
    {
      name: "without a quorum nothing is",
      given: cluster({ down: ["my-etcd-1", "my-etcd-2"] }),
      ends: { outcome: "Waits", message: expect.stringMatching(/^await-quorum: /) },
    },
    {
      name: "a pause is told",
      given: cluster({ spec: { replicas: 5, paused: true } }),
      ends: { outcome: "Waits", message: "paused: nothing is changed while spec.paused is true" },
    },
    {
      name: "a release to which there is no way is refused, with the way",
      given: cluster({ spec: { version: "3.4.35" } }),
      ends: {
        outcome: "Refused",
        message: "nothing of it would be carried out",
        refused: [
          {
            rule: "no-version-path",
            message: expect.stringMatching(/^spec\.version is refused: from 3\.6\.16 to 3\.4\.35 goes back/),
          },
        ],
      },
    },
    {
      name: "what is refused beside it keeps nothing else from being done",
      given: cluster({ spec: { version: "3.4.35", replicas: 4 } }),
      ends: { outcome: "Done", refused: [expect.objectContaining({ rule: "no-version-path" })] },
    },
    {
      name: "a way back begins with etcd's own downgrade",
      given: cluster({ spec: { version: "3.5.35" } }),
      ends: {
        outcome: "Done",
        restarts: ["my-etcd-2", "my-etcd-1", "my-etcd-0"],
        steps: expect.arrayContaining([expect.objectContaining({ step: "enableDowngrade" })]),
      },
    },
    {
      name: "and ends with it when that is not asked for any more",
      given: downgrading(cluster()),
      ends: { outcome: "Done", steps: [expect.objectContaining({ step: "cancelDowngrade" })] },
    },
    {
      name: "what no member could run is refused",
      given: wanting({ ...NEWER, podTemplate: { spec: { hostNetwork: true } } }),
      ends: {
        outcome: "Refused",
        refused: [{ rule: "refused-spec", message: expect.stringContaining("hostNetwork") }],
      },
    },
    {
      name: "an update that has stopped stays so",
      given: withStop(wanting(NEWER), "my-etcd-2"),
      ends: { outcome: "Refused", refused: [expect.objectContaining({ rule: "put-back" })] },
    },
    {
      name: "a member that somebody has to help is waited for",
      given: withCrashing(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 60_000),
      ends: { outcome: "Waits", message: "await-health: waiting for my-etcd-1 to be healthy again" },
    },
    {
      name: "unless what it gets may help it",
      given: withCrashing(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1", 60_000),
      ends: { outcome: "Done", restarts: ["my-etcd-1", "my-etcd-2", "my-etcd-0"] },
    },
    {
      name: "one that is silent for long is waited for",
      given: silentFor(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-1", 600_000),
      ends: { outcome: "Waits", message: expect.stringContaining("my-etcd-1 must be healthy") },
    },
    {
      name: "one that is silent for a moment comes back",
      given: sickFor(cluster({ spec: { replicas: 4 }, down: ["my-etcd-1"] }), "my-etcd-1", 1_000),
      ends: { outcome: "Done" },
    },
  ];
  test.each(cases)("$name", ({ given, ends }) => expect(forecast(given)).toMatchObject(ends));

  test("what is not there is not told", () => {
    expect(forecast(cluster())).toEqual({ outcome: "Done", message: "there is nothing more to do then" });
  });

  test("a step is told as its event would tell it", () => {
    expect(forecast(wanting(NEWER)).steps?.[0]).toEqual({
      rule: "give-turn",
      step: "replacePeer",
      member: "my-etcd-2",
      message: "it is the turn of my-etcd-2, which gets etcd 3.6.17 instead of 3.6.16; 2 more will follow",
    });
  });
});

test("forecast: all from one member to seven with another release is foretold", () => {
  const { outcome, restarts } = forecast(wanting(NEWER, { replicas: 1, spec: { replicas: 7 } }));
  expect([outcome, restarts]).toEqual(["Done", [6, 5, 4, 3, 2, 1, 0].map((n) => `my-etcd-${n}`)]);
});
