import { describe, expect, test } from "vitest";
import type { ChangeRun } from "#kit/sweeps/tls-change.ts";
import { guardedAgain } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { CHANGE_MUTANTS, type ChangeMutant, deciderOf } from "./mutants-tls-change.ts";

// Shows that the simulated TLS changes find defects.

/** The objection of the change, and the certificates that members present at its end. */
function toldOf(change: ChangeRun): { readonly objection: string | undefined; readonly shown: object } {
  try {
    change.run();
    return { objection: undefined, shown: change.shown };
  } catch (thrown) {
    return { objection: (thrown as Error).message, shown: change.shown };
  }
}

/** The objection, and the signer of the application certificate at the end. */
function endOf(mutant: Pick<ChangeMutant, "edits" | "believes" | "way">) {
  const change = mutant.way(deciderOf(mutant));
  const { objection, shown } = toldOf(change);
  return { objection, end: { shown, given: change.secrets.get("my-etcd-client")?.signerId } };
}

describe("a simulated change of the TLS provider detects the mutant:", () => {
  test.each(CHANGE_MUTANTS)("$name", (mutant) => {
    const real = endOf({ edits: [], way: mutant.way });
    expect(real.objection).toBeUndefined();
    const { objection, end } = endOf(mutant);
    if (mutant.objects === undefined) expect(end).not.toEqual(real.end);
    else expect(objection).toMatch(mutant.objects);
    // With its guard restored the mutant may not finish, but cuts no party off.
    const again = guardedAgain(mutant);
    expect(again && endOf(again).objection).toBeUndefined();
    expect(again === undefined).toBe(mutant.objects === undefined);
  });
});

test("every mutant that refers to the mutants of TLS changes is one of them", () => {
  const left = MUTANTS.filter(({ covered }) => covered?.includes("see the mutants of TLS changes"));
  expect(left.length).toBeGreaterThan(5);
  const tried = CHANGE_MUTANTS.flatMap(({ name }) => name.split(" + "));
  expect(left.filter(({ name }) => !tried.includes(name)).map(({ name }) => name)).toEqual([]);
});
