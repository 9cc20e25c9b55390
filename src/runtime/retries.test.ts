import { expect, test } from "vitest";
import { Retries, URGENT_TRIES } from "#runtime/retries.ts";

const KEY = "foo/toy";
type Failure = Parameters<Retries["note"]>[1];

function after(...failures: readonly Failure[]) {
  const retries = new Retries();
  return failures.map((is) => retries.note(KEY, is, "asked", 0));
}

test("retries: pauses grow with each failure of the same kind", () => {
  const all = after("withBackoff", "withBackoff", "afterConflict", "afterConflict", "withBackoff");
  expect(all.map(({ pauseMs }) => pauseMs)).toEqual([500, 1_000, 50, 75, 500]);
  const many = after(...Array.from({ length: 20 }, () => "withBackoff" as const));
  expect(many.at(-1)?.pauseMs).toBe(30_000);
  const conflicts = after(...Array.from({ length: 20 }, () => "afterConflict" as const));
  expect(conflicts.at(-1)?.pauseMs).toBe(2_000);
});

test("retries: urgency is kept for some tries, of whatever kind, and then lost", () => {
  const all = after("withBackoff", "afterConflict", "withBackoff", "withBackoff", "afterConflict", "afterConflict");
  expect(all).toHaveLength(URGENT_TRIES);
  expect(all.map(({ owed }) => owed)).toEqual(["asked", "asked", "asked", "asked", "asked", undefined]);
});

test("retries: they are counted by key, and from zero once a pass has decided something", () => {
  const retries = new Retries();
  const note = (key: string) => retries.note(key, "withBackoff", "asked", 0).pauseMs;
  expect([note("a"), note("a"), note("b")]).toEqual([500, 1_000, 500]);
  retries.forget("a");
  expect([note("a"), note("b")]).toEqual([500, 1_000]);
});
