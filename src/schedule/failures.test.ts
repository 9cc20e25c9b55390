import { expect, test } from "vitest";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { archiveOf, counted, schedule } from "#kit/snapshots/schedule.ts";
import { pauseMsAfter } from "#schedule/failures.ts";
import { planSchedule } from "#schedule/plan.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { scheduleStatus } from "#schedule/status.ts";

// Pauses after archives that fail at once.

const MINUTE = 60_000;

/** An archive created and failed this long ago, with this many recorded failures. */
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

const failuresOf = (snapshot: ScheduleSnapshot) => scheduleStatus(snapshot, planSchedule(snapshot)).archiveFailures;

test("no failure is recorded while the archive runs", () => {
  const snapshot = failing(undefined, 60_000, undefined);
  expect(scheduleStatus(snapshot, planSchedule(snapshot))).not.toHaveProperty("archiveFailures");
});

test("the pause after failures grows from a minute to half an hour", () => {
  const minutes = [1, 2, 3, 4, 5, 6, 7, 1_000].map((count) => pauseMsAfter({ count, time: "" }) / MINUTE);
  expect(minutes).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
});

test.each<[string, number | undefined, number, boolean]>([
  ["after its first failure an archive is replaced after a minute", undefined, 60_000, true],
  ["after its first failure an archive is not replaced sooner", undefined, 59_000, false],
  ["after its third failure an archive is not replaced after a minute", 2, 60_000, false],
  ["after its third failure an archive is not replaced just before four minutes", 2, 4 * MINUTE - 1_000, false],
  ["after its third failure an archive is replaced after four minutes", 2, 4 * MINUTE, true],
  ["after its hundredth failure an archive is replaced after half an hour", 99, 30 * MINUTE, true],
  ["after its hundredth failure an archive is not replaced sooner", 99, 30 * MINUTE - 1_000, false],
])("%s", (_, before, failedMs, isReplaced) => {
  const plan = planSchedule(failing(before, failedMs + 10_000, failedMs));
  expect(plan.next === "step" && plan.rule === "end-archive").toBe(isReplaced);
});

test("a failure is counted once, however often it is observed", () => {
  const snapshot = failing(2, 20_000, 10_000);
  const failures = failuresOf(snapshot);
  expect(failures).toEqual({ count: 3, time: rfc3339(NOW - 10_000) });
  const status = { ...snapshot.schedule.status, archiveFailures: failures! };
  expect(failuresOf({ ...snapshot, schedule: { ...snapshot.schedule, status } })).toEqual(failures);
});

test("the count of failures stays until the next archive has run for half an hour", () => {
  const next = failing(3, 30 * MINUTE - 1_000, undefined);
  expect(failuresOf(next)?.count).toBe(3);
  expect(failuresOf({ ...next, archive: undefined })?.count).toBe(3);
});

test("an archive that has run for half an hour resets the count of failures", () => {
  expect(failuresOf(failing(3, 30 * MINUTE, undefined))).toBeUndefined();
  expect(failuresOf(failing(3, 31 * MINUTE, MINUTE))?.count).toBe(1);
  expect(failuresOf(failing(3, 30 * MINUTE, MINUTE))?.count).toBe(4);
});

test("no failures are recorded without a failure, or without spec.archive", () => {
  expect(failuresOf(failing(undefined, MINUTE, undefined))).toBeUndefined();
  const { schedule: given, ...rest } = failing(3, MINUTE, 30_000);
  const { archive: _, ...spec } = given.spec;
  expect(failuresOf({ ...rest, schedule: { ...given, spec } })).toBeUndefined();
});

test("an archive that runs is not replaced, although the pause after earlier failures is over", () => {
  const plan = planSchedule(failing(3, 20 * MINUTE, undefined));
  expect(plan.next === "step" && plan.rule === "end-archive").toBe(false);
});

test("only a failure with its time is counted", () => {
  const running = failing(2, MINUTE, undefined);
  const withArchive = (status: NonNullable<EtcdBackup["status"]>) => ({
    ...running,
    archive: { ...running.archive!, status },
  });
  expect(failuresOf(withArchive({ phase: "Failed" }))?.count).toBe(2);
  expect(failuresOf(withArchive({ phase: "Completed", completionTime: rfc3339(NOW) }))?.count).toBe(2);
  expect(failuresOf(withArchive({ phase: "Failed", completionTime: rfc3339(NOW) }))?.count).toBe(3);
});
