import { describe, expect, test } from "vitest";
import { dueTimeOf, scheduledBackupName } from "#api/names.ts";
import type { EtcdBackupScheduleStatus } from "#api/v1beta1/schedule.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { counted, MADE_MS, run, schedule } from "#kit/snapshots/schedule.ts";
import { disposalsIn } from "#schedule/disposal.ts";
import { calendarFor, newSinceMs, runsOf } from "#schedule/runs.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function last(atMs: number, more: EtcdBackupScheduleStatus = {}): EtcdBackupScheduleStatus {
  return counted({}, { lastScheduleTime: rfc3339(atMs), runs: 7, ...more });
}

/** Expected runs, as times relative to noon. */
function runsText(given: Parameters<typeof schedule>[0]) {
  const { lastMs, made, dueMs, missedMs, nextMs, sinceMs } = runsOf(schedule(given));
  const of = (ms: number | undefined) => (ms === undefined ? undefined : (ms - NOW) / MINUTE);
  return { last: of(lastMs), made, due: of(dueMs), missed: of(missedMs), next: of(nextMs), since: of(sinceMs) };
}

const SINCE = (MADE_MS - NOW) / MINUTE;

describe("with an hourly schedule at noon", () => {
  test.each<[string, Parameters<typeof schedule>[0], Partial<ReturnType<typeof runsText>>]>([
    ["nothing is due when the latest run was now", { status: last(NOW) }, { last: 0, made: 7, due: undefined, next: 60 }],
    ["the noon run is due", { status: last(NOW - HOUR) }, { last: -60, due: 0, next: 60, since: SINCE }],
    ["the noon run is not due a second earlier", { status: last(NOW - HOUR), atMs: NOW - 1 }, { due: undefined, next: 0 }],
    ["only the latest of several missed runs is due", { status: last(NOW - 5 * HOUR), atMs: NOW + MINUTE }, { due: 0, missed: undefined }],
    ["a first run is due that is computed from the creation", { status: counted({}) }, { last: undefined, made: 0, due: 0 }],
    ["a backup that is not recorded yet counts as a run", { status: last(NOW - HOUR), backups: [run(NOW)] }, { last: 0, made: 8, due: undefined }],
    ["several backups that are not recorded yet count as runs", { status: last(NOW - 3 * HOUR), backups: [run(NOW - 2 * HOUR), run(NOW - HOUR)] }, { last: -60, made: 9, due: 0 }],
    ["a recorded run is counted once", { status: last(NOW), backups: [run(NOW)] }, { last: 0, made: 7, due: undefined }],
    ["a recorded run counts when its backup no longer exists", { status: last(NOW), backups: [run(NOW - HOUR)] }, { last: 0, made: 7, due: undefined }],
    ["a backup with another name does not count as a run", { status: last(NOW - HOUR), backups: [run(NOW, { metadata: { name: "nightly-by-hand" } })] }, { last: -60, made: 7, due: 0 }],
    ["a run is due within its deadline", { status: last(NOW - HOUR), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + MINUTE }, { due: 0, missed: undefined }],
    ["a run is missed after its deadline", { status: last(NOW - HOUR), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + MINUTE + 1 }, { due: undefined, missed: 0, next: 60 }],
    ["a run that waited for its cluster is due after its deadline", { status: last(NOW - HOUR, { heldTime: rfc3339(NOW) }), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + MINUTE + 1 }, { due: 0, missed: undefined, next: 60 }],
    ["the run after one that waited has its own deadline", { status: last(NOW - HOUR, { heldTime: rfc3339(NOW - 1_000) }), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + MINUTE + 1 }, { due: undefined, missed: 0 }],
    ["nothing is due while the schedule is suspended", { status: last(NOW - HOUR), spec: { suspend: true } }, { due: undefined, next: undefined, since: undefined }],
    ["nothing is due until an edited schedule is recorded", { status: last(NOW - HOUR, counted({ schedule: "@daily" })) }, { due: undefined, since: undefined }],
    ["nothing is due until an edited time zone is recorded", { status: last(NOW - HOUR, counted({ timeZone: "Europe/Berlin" })) }, { due: undefined, since: undefined }],
    ["nothing is due before the first observation is recorded", { status: {} }, { due: undefined, since: undefined }],
    ["runs from before an edit are not due", { status: { ...last(NOW - 5 * HOUR), counted: { schedule: "@hourly", timeZone: "UTC", since: rfc3339(NOW - 30 * MINUTE) } }, atMs: NOW - MINUTE }, { due: undefined, next: 0 }],
    ["nothing is due with an invalid schedule", { status: last(NOW - HOUR), spec: { timeZone: "Mars/Phobos" } }, { due: undefined, next: undefined, since: undefined, last: -60, made: 7 }],
  ])("%s", (_, given, expected) => expect(runsText(given)).toMatchObject(expected)); // biome-ignore format: a table
});

describe("with spec.startWindow: 30m, of which this schedule waits 21 minutes and 59 seconds", () => {
  const spec = { startWindow: "30m" };
  const WAIT = 21 * MINUTE + 59_000;
  const minutes = (ms: number) => ms / MINUTE;
  const status = (atMs: number, more: object = {}) => ({ ...last(atMs), counted: { schedule: "@hourly", timeZone: "UTC", startWindow: "30m", since: rfc3339(MADE_MS), ...more } }); // biome-ignore format: a line
  const failed = run(NOW + WAIT, { failed: "NoQuorum" });

  test.each<[string, Parameters<typeof schedule>[0], Partial<ReturnType<typeof runsText>>]>([
    ["the noon run is not due before", { spec, status: status(NOW - HOUR + WAIT), atMs: NOW + WAIT - 1 }, { due: undefined, next: minutes(WAIT) }],
    ["the noon run is due then", { spec, status: status(NOW - HOUR + WAIT), atMs: NOW + WAIT }, { due: minutes(WAIT), next: minutes(HOUR + WAIT) }],
    ["the noon run is made once", { spec, status: status(NOW + WAIT), atMs: NOW + WAIT }, { last: minutes(WAIT), due: undefined, next: minutes(HOUR + WAIT) }],
    ["the deadline counts from then", { spec: { ...spec, startingDeadlineSeconds: 60 }, status: status(NOW - HOUR + WAIT), atMs: NOW + WAIT + MINUTE }, { due: minutes(WAIT), missed: undefined }],
    ["a later start is missed", { spec: { ...spec, startingDeadlineSeconds: 60 }, status: status(NOW - HOUR + WAIT), atMs: NOW + WAIT + MINUTE + 1 }, { due: undefined, missed: minutes(WAIT) }],
    ["a failed run is repeated until the next start", { spec, status: status(NOW + WAIT), backups: [failed], atMs: NOW + WAIT + 20 * MINUTE }, { due: minutes(WAIT + 10 * MINUTE), next: minutes(HOUR + WAIT) }],
    ["a failed run is not repeated after the next start", { spec, status: status(NOW + WAIT), backups: [run(NOW + WAIT, { failed: "NoQuorum", endedMs: NOW + WAIT + 40 * MINUTE })], atMs: NOW + WAIT + 59 * MINUTE }, { due: undefined, next: minutes(HOUR + WAIT) }],
    ["the first run of spec.immediate is at once", { spec: { ...spec, immediate: true, schedule: "0 0 1 2 *" }, status: counted({}, { counted: { schedule: "0 0 1 2 *", timeZone: "UTC", startWindow: "30m", since: rfc3339(MADE_MS) } }) }, { due: SINCE }],
    ["nothing is due until a new window is recorded", { spec, status: last(NOW - HOUR), atMs: NOW + WAIT }, { due: undefined, since: undefined }],
    ["nothing is due until another window is recorded", { spec, status: status(NOW - HOUR, { startWindow: "1h" }), atMs: NOW + WAIT }, { due: undefined, since: undefined }],
    ["nothing is due until it is recorded that the window was removed", { status: status(NOW - HOUR) }, { due: undefined, since: undefined }],
  ])("%s", (_, given, expected) => expect(runsText(given)).toMatchObject(expected)); // biome-ignore format: a table
});

describe("with spec.immediate", () => {
  const spec = { immediate: true, schedule: "0 0 1 1 *" };
  const status = counted(spec);
  test.each<[string, Parameters<typeof schedule>[0], number | undefined]>([
    ["the first run is due at once, with the creation as its time", { spec, status, atMs: NOW - 12 * HOUR - MINUTE }, SINCE],
    ["the first run has no deadline", { spec: { ...spec, startingDeadlineSeconds: 1 }, status, atMs: NOW - 12 * HOUR - MINUTE }, SINCE],
    ["a regular run that is due replaces the first run", { spec, status }, -12 * 60],
    ["a regular run past its deadline does not replace the first run", { spec: { ...spec, startingDeadlineSeconds: 1 }, status }, SINCE],
    ["no first run is due after a run was recorded", { spec, status: { ...status, runs: 1 }, atMs: NOW - 12 * HOUR - MINUTE }, undefined],
    ["no first run is due when its backup exists and is not recorded yet", { spec, status, backups: [run(MADE_MS)], atMs: NOW - 12 * HOUR - MINUTE }, undefined],
    ["no first run is due while the schedule is suspended", { spec: { ...spec, suspend: true }, status }, undefined],
    ["no first run is due when spec.immediate is false", { spec: { ...spec, immediate: false }, status, atMs: NOW - 12 * HOUR - MINUTE }, undefined],
  ])("%s", (_, given, due) => expect(runsText(given).due).toBe(due)); // biome-ignore format: a table
});

describe("with a wrong clock", () => {
  test("that was set back by an hour, nothing is due until the next run", () => {
    expect(runsText({ status: last(NOW), atMs: NOW - 30 * MINUTE })).toMatchObject({
      due: undefined,
      last: 0,
      next: 60,
    });
  });

  test("that was set back to before an edit, nothing is due until the edit's time", () => {
    const since = { counted: { schedule: "@hourly", timeZone: "UTC", since: rfc3339(NOW) } };
    expect(runsText({ status: { ...last(NOW - 4 * HOUR), ...since }, atMs: NOW - HOUR })).toMatchObject({
      due: undefined,
      next: 60,
    });
  });

  test("recorded times up to a day ahead count, and later times are ignored", () => {
    expect(runsText({ status: last(NOW + DAY) })).toMatchObject({ last: 24 * 60, due: undefined, next: 25 * 60 });
    expect(runsText({ status: last(NOW + DAY + HOUR) })).toMatchObject({ last: undefined, made: 7, due: 0 });
    const future = run(NOW + 400 * DAY);
    expect(runsText({ status: last(NOW + 400 * DAY), backups: [future, run(NOW - HOUR)] })).toMatchObject({
      last: -60,
      due: 0,
    });
    expect(runsText({ status: last(NOW - HOUR), backups: [future] })).toMatchObject({ last: -60, due: 0, made: 7 });
    const since = { counted: { schedule: "@hourly", timeZone: "UTC", since: rfc3339(NOW + DAY + 1_000) } };
    expect(runsText({ status: { ...last(NOW - HOUR), ...since } })).toMatchObject({ due: undefined, since: undefined });
    since.counted.since = rfc3339(NOW + DAY);
    expect(runsText({ status: { ...last(NOW - HOUR), ...since } })).toMatchObject({ due: undefined, since: 24 * 60 });
  });
});

test("runs are computed once per snapshot, and calendars once per schedule", () => {
  const seen = schedule();
  expect(runsOf(seen)).toBe(runsOf(seen));
  expect(calendarFor(seen)).toBe(calendarFor({ ...seen }));
  expect(disposalsIn(seen)).toBe(disposalsIn(seen));
});

test("runs are counted from the creation of a new schedule, else from now", () => {
  expect(newSinceMs(schedule({ status: {} }))).toBe(MADE_MS);
  expect(newSinceMs(schedule({ status: { observedGeneration: 0 } }))).toBe(MADE_MS);
  expect(newSinceMs(schedule({ status: { observedGeneration: 3 } }))).toBe(NOW);
  expect(newSinceMs(schedule({ status: {}, atMs: MADE_MS - HOUR }))).toBe(MADE_MS - HOUR);
});

describe("the name of a run", () => {
  test("contains the due time, and can be parsed back", () => {
    expect(scheduledBackupName("nightly", NOW)).toBe("nightly-20260101-120000");
    expect(dueTimeOf("nightly", "nightly-20260101-120000")).toBe(NOW);
    expect(scheduledBackupName("a".repeat(47), NOW)).toHaveLength(63);
  });

  test.each([
    "nightly",
    "nightly-1",
    "nightly-20260101-1200000",
    "other-20260101-120000",
    "nightly-20261301-120000",
    "nightly-x-20260101-120000",
  ])("%s is not a run's name", (name) => expect(dueTimeOf("nightly", name)).toBeUndefined());
});
