import { expect, test } from "vitest";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/cluster.ts";
import { archiveOf, counted, schedule } from "#kit/schedule.ts";
import { pauseMsAfter } from "#schedule/failures.ts";
import { planSchedule } from "#schedule/plan.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { scheduleStatus } from "#schedule/status.ts";

// An archive that fails at once: how soon is the next one made?

const MINUTE = 60_000;

/** With so many failures on record, an archive that was made, and has failed, so long ago. */
function failing(
  count: number | undefined,
  madeMs: number,
  failedMs: number | undefined,
  atMs = NOW,
): ScheduleSnapshot {
  const made = archiveOf(
    failedMs === undefined ? { phase: "BackingUp" } : { phase: "Failed", completionTime: rfc3339(NOW - failedMs) },
  );
  const archive = { ...made, metadata: { ...made.metadata, creationTimestamp: rfc3339(NOW - madeMs) } };
  const time = rfc3339(NOW - madeMs - 1_000);
  const status = counted({}, { lastScheduleTime: rfc3339(NOW), runs: 1 });
  const known = count === undefined ? {} : { archiveFailures: { count, time } };
  return schedule({ spec: { archive: {} }, archive, status: { ...status, ...known }, atMs });
}

const told = (snapshot: ScheduleSnapshot) => scheduleStatus(snapshot, planSchedule(snapshot)).archiveFailures;

test("nothing is on record while none has failed", () => {
  const snapshot = failing(undefined, 60_000, undefined);
  expect(scheduleStatus(snapshot, planSchedule(snapshot))).not.toHaveProperty("archiveFailures");
});

test("the pause grows from a minute to half an hour", () => {
  const minutes = [1, 2, 3, 4, 5, 6, 7, 1_000].map((count) => pauseMsAfter({ count, time: "" }) / MINUTE);
  expect(minutes).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
});

test.each<[string, number | undefined, number, boolean]>([
  ["the first one is made anew after a minute", undefined, 60_000, true],
  ["and not before", undefined, 59_000, false],
  ["the third one not after a minute", 2, 60_000, false],
  ["nor before four", 2, 4 * MINUTE - 1_000, false],
  ["but then", 2, 4 * MINUTE, true],
  ["the hundredth after half an hour", 99, 30 * MINUTE, true],
  ["and not before", 99, 30 * MINUTE - 1_000, false],
])("%s", (_, before, failedMs, goes) => {
  const plan = planSchedule(failing(before, failedMs + 10_000, failedMs));
  expect(plan.next === "step" && plan.rule === "end-archive").toBe(goes);
});

test("a failure is counted once, however often it is looked at", () => {
  const snapshot = failing(2, 20_000, 10_000);
  const failures = told(snapshot);
  expect(failures).toEqual({ count: 3, time: rfc3339(NOW - 10_000) });
  const status = { ...snapshot.schedule.status, archiveFailures: failures! };
  expect(told({ ...snapshot, schedule: { ...snapshot.schedule, status } })).toEqual(failures);
});

test("what is on record stays while the next one is made and has yet to prove itself", () => {
  const next = failing(3, 30 * MINUTE - 1_000, undefined);
  expect(told(next)?.count).toBe(3);
  expect(told({ ...next, archive: undefined })?.count).toBe(3);
});

test("one that works for half an hour has the next failure counted from the beginning", () => {
  expect(told(failing(3, 30 * MINUTE, undefined))).toBeUndefined();
  expect(told(failing(3, 31 * MINUTE, MINUTE))?.count).toBe(1);
  expect(told(failing(3, 30 * MINUTE, MINUTE))?.count).toBe(4);
});

test("nothing is told without a failure, nor where no archive is wanted any more", () => {
  expect(told(failing(undefined, MINUTE, undefined))).toBeUndefined();
  const { schedule: given, ...rest } = failing(3, MINUTE, 30_000);
  const { archive: _, ...spec } = given.spec;
  expect(told({ ...rest, schedule: { ...given, spec } })).toBeUndefined();
});
