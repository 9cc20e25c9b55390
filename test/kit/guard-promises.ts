import { expect, test } from "vitest";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";

/** What a guard says of a step, whatever the other guards say. */
export interface GuardCase {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly step: ClusterStep;
  readonly is: "forbidden" | "allowed";
}

/**
 * A test for each case; and one that says that there are cases for each guard of the file, and for each of its answers.
 * @param exported what the file of the guards exports
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
  test(`cluster guards: ${names.join(", ")}: each has promises, and each of its answers is among them`, () => {
    expect(Object.keys(cases).sort()).toEqual(names.toSorted());
    for (const [guard, promises] of Object.entries(cases))
      expect([guard, ...new Set(promises.map(({ is }) => is))].sort()).toEqual([guard, "allowed", "forbidden"].sort());
  });
}
