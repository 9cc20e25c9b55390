import { expect, test } from "vitest";
import { Retries, URGENT_TRIES } from "#runtime/retries.ts";

const KEY = "foo/toy";
type Failure = Parameters<Retries["note"]>[1];

function after(...failures: readonly Failure[]) {
  const retries = new Retries();
  return failures.map((is) => retries.note(KEY, is, "asked", 0));
}

test("retries: the backoff grows with each failure of one kind, up to a limit", () => {
  const all = after("withBackoff", "withBackoff", "afterConflict", "afterConflict", "withBackoff");
  expect(all.map(({ pauseMs }) => pauseMs)).toEqual([500, 1_000, 50, 75, 500]);
  const many = after(...Array.from({ length: 20 }, () => "withBackoff" as const));
  expect(many.at(-1)?.pauseMs).toBe(30_000);
  const conflicts = after(...Array.from({ length: 20 }, () => "afterConflict" as const));
  expect(conflicts.at(-1)?.pauseMs).toBe(2_000);
});

test("retries: a key keeps its urgency for five tries that failed in any way", () => {
  const all = after("withBackoff", "afterConflict", "withBackoff", "withBackoff", "afterConflict", "afterConflict");
  expect(all).toHaveLength(URGENT_TRIES);
  expect(all.map(({ owed }) => owed)).toEqual(["asked", "asked", "asked", "asked", "asked", undefined]);
});

test("retries: failures are counted by key, and from zero once a pass has decided something", () => {
  const retries = new Retries();
  const note = (key: string) => retries.note(key, "withBackoff", "asked", 0).pauseMs;
  expect([note("a"), note("a"), note("b")]).toEqual([500, 1_000, 500]);
  retries.forget("a");
  expect([note("a"), note("b")]).toEqual([500, 1_000]);
});
