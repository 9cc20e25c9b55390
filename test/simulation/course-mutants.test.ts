import { describe, expect, test } from "vitest";
import type { Course } from "#kit/sweeps/tls-course.ts";
import { guardedAgain } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { COURSE_MUTANTS, type CourseMutant, deciderOf } from "./mutants-course.ts";

// Shows that the courses find defects.

/** The objection of the course, and the certificates that members present at its end. */
function toldOf(course: Course): { readonly objection: string | undefined; readonly shown: object } {
  try {
    course.run();
    return { objection: undefined, shown: course.shown };
  } catch (thrown) {
    return { objection: (thrown as Error).message, shown: course.shown };
  }
}

/** The objection, and the signer of the application certificate at the end. */
function endOf(mutant: Pick<CourseMutant, "edits" | "believes" | "way">) {
  const course = mutant.way(deciderOf(mutant));
  const { objection, shown } = toldOf(course);
  return { objection, end: { shown, given: course.secrets.get("my-etcd-client")?.signerId } };
}

describe("a simulated change of the TLS provider detects the mutant:", () => {
  test.each(COURSE_MUTANTS)("$name", (mutant) => {
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

test("every mutant that refers to the mutants of courses is one of them", () => {
  const left = MUTANTS.filter(({ covered }) => covered?.includes("see the mutants of courses"));
  expect(left.length).toBeGreaterThan(5);
  const tried = COURSE_MUTANTS.flatMap(({ name }) => name.split(" + "));
  expect(left.filter(({ name }) => !tried.includes(name)).map(({ name }) => name)).toEqual([]);
});
