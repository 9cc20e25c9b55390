import { expect, test } from "vitest";
import { cluster } from "#kit/snapshots/cluster.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { STEPS, settled, withoutList } from "#kit/snapshots/cluster-steps.ts";
import { forbiddenBy } from "#runtime/decide.ts";
import { CLUSTER_GUARDS } from "./guards.ts";
import type { ClusterSnapshot } from "./snapshot.ts";
import type { ClusterStep } from "./step.ts";
import { STEP_TRAITS, type StepTraits } from "./step-traits.ts";

// A kind of step that guards do not know by name is judged by its traits.

const KIND = "a-kind-that-does-not-exist";
const TRAITS: StepTraits = { ...STEP_TRAITS.disarmAlarm, changes: "data", needsList: true, interrupts: "member" };

/** The guard that forbids a new kind of step with these traits; `undefined`: none. */
function forbids(given: ClusterSnapshot, traits: StepTraits): string | undefined {
  const kinds = STEP_TRAITS as Record<string, StepTraits>;
  kinds[KIND] = traits;
  try {
    const step = { do: KIND, name: "my-etcd-0" } as unknown as ClusterStep;
    return forbiddenBy(CLUSTER_GUARDS, given, step)?.guard;
  } finally {
    delete kinds[KIND];
  }
}

const cases: readonly { name: string; given: ClusterSnapshot; by: string | undefined }[] = [
  { name: "without an identity", given: cluster({ stage: "new" }), by: "identity-first" },
  { name: "while the cluster sleeps", given: asleep(), by: "sleep-keeps-members" },
  { name: "without a member list", given: withoutList(settled), by: "need-member-list" },
  { name: "with one of three members down", given: cluster({ down: ["my-etcd-1"] }), by: "restart-keeps-quorum" },
  { name: "with one of five members down", given: cluster({ replicas: 5, down: ["my-etcd-1"] }), by: "one-at-a-time" },
  { name: "in a healthy cluster", given: settled, by: undefined },
];
for (const { name, given, by } of cases) {
  test(`step traits: a new kind of step that changes data and interrupts a member ${name} is forbidden by ${by ?? "no guard"}`, () => {
    expect(forbids(given, TRAITS)).toBe(by);
  });
}

test("step traits: a new kind that stops all members is allowed only with spec.replicas 0", () => {
  expect(forbids(settled, { ...STEP_TRAITS.fallAsleep })).toBe("sleep-is-asked");
});

test("step traits: each kind of step has traits, and kinds that change membership or data need the member list", () => {
  expect(Object.keys(STEP_TRAITS).sort()).toEqual(Object.keys(STEPS).sort());
  for (const [kind, { changes, needsList }] of Object.entries(STEP_TRAITS))
    if (changes === "membership" || changes === "data") expect([kind, needsList]).toEqual([kind, true]);
});
