import { describe, expect, test } from "vitest";
import type { Course } from "#kit/tls-course.ts";
import { guardedAgain } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { COURSE_MUTANTS, type CourseMutant, deciderOf } from "./mutants-course.ts";

// A course that objects to nothing proves nothing.

/** What the course objects to, and where it ends. */
function toldOf(course: Course): { readonly objection: string | undefined; readonly shown: object } {
  try {
    course.run();
    return { objection: undefined, shown: course.shown };
  } catch (thrown) {
    return { objection: (thrown as Error).message, shown: course.shown };
  }
}

/** With whose certificates applications go in the end, besides what members show. */
function endOf(mutant: Pick<CourseMutant, "edits" | "believes" | "way">) {
  const course = mutant.way(deciderOf(mutant));
  const { objection, shown } = toldOf(course);
  return { objection, end: { shown, given: course.secrets.get("my-etcd-client")?.signerId } };
}

describe("a course objects to", () => {
  test.each(COURSE_MUTANTS)("$name", (mutant) => {
    const real = endOf({ edits: [], way: mutant.way });
    expect(real.objection).toBeUndefined();
    const { objection, end } = endOf(mutant);
    if (mutant.objects === undefined) expect(end).not.toEqual(real.end);
    else expect(objection).toMatch(mutant.objects);
    // With its guard back it may get nowhere, and leaves nobody out.
    const again = guardedAgain(mutant);
    expect(again && endOf(again).objection).toBeUndefined();
    expect(again === undefined).toBe(mutant.objects === undefined);
  });
});

test("what histories leave to courses is tried there", () => {
  const left = MUTANTS.filter(({ covered }) => covered?.includes("see the mutants of courses"));
  expect(left.length).toBeGreaterThan(5);
  const tried = COURSE_MUTANTS.flatMap(({ name }) => name.split(" + "));
  expect(left.filter(({ name }) => !tried.includes(name)).map(({ name }) => name)).toEqual([]);
});
