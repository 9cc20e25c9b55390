import { expect, test } from "vitest";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { STEPS } from "#kit/snapshots/cluster-steps.ts";
import { testJudged } from "./judged-kinds.ts";
import { JUDGED_BY } from "./judged-steps.ts";

/** The answer of one guard to a step, independent of other guards. */
export interface GuardCase {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly step: ClusterStep;
  readonly is: "forbidden" | "allowed";
}

/**
 * One test for each case, and one that every guard of the file has cases with each answer.
 * @param exported the exports of the guards' file
 * @param cases by the guards' names
 */
export function promised(
  exported: Readonly<Record<string, unknown>>,
  cases: Record<string, readonly GuardCase[]>,
): void {
  const guards = CLUSTER_GUARDS.filter((guard) => Object.values(exported).includes(guard));
  for (const [guard, promises] of Object.entries(cases)) {
    for (const { name, given, step, is } of promises) {
      test(`cluster guards: ${guard}: ${name}`, () => {
        const why = guards.find((each) => each.name === guard)!.forbids(given, step);
        expect(why === undefined ? "allowed" : "forbidden", why).toBe(is);
      });
    }
  }
  const names = guards.map(({ name }) => name);
  test(`cluster guards: each guard of the file has an allowed and a forbidden case: ${names.join(", ")}`, () => {
    expect(Object.keys(cases).sort()).toEqual(names.toSorted());
    for (const [guard, promises] of Object.entries(cases))
      expect([guard, ...new Set(promises.map(({ is }) => is))].sort()).toEqual([guard, "allowed", "forbidden"].sort());
  });
  const all = Object.entries(cases).flatMap(([guard, promises]) => promises.map((each) => ({ guard, ...each })));
  testJudged<ClusterSnapshot, ClusterStep>(guards, STEPS, JUDGED_BY, all);
}
