import { describe, expect, test } from "vitest";
import { dueTimeOf, scheduledBackupName } from "#api/names.ts";
import type { EtcdBackupScheduleStatus } from "#api/v1beta1/schedule.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/cluster.ts";
import { counted, MADE_MS, run, schedule } from "#kit/schedule.ts";
import { disposalsIn } from "#schedule/disposal.ts";
import { calendarFor, newSinceMs, runsOf } from "#schedule/runs.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function last(atMs: number, more: EtcdBackupScheduleStatus = {}): EtcdBackupScheduleStatus {
  return counted({}, { lastScheduleTime: rfc3339(atMs), runs: 7, ...more });
}

/** What is asked of the runs, as times relative to noon. */
function told(given: Parameters<typeof schedule>[0]) {
  const { lastMs, made, dueMs, missedMs, nextMs, sinceMs } = runsOf(schedule(given));
  const of = (ms: number | undefined) => (ms === undefined ? undefined : (ms - NOW) / MINUTE);
  return { last: of(lastMs), made, due: of(dueMs), missed: of(missedMs), next: of(nextMs), since: of(sinceMs) };
}

const SINCE = (MADE_MS - NOW) / MINUTE;

describe("a schedule of every hour, at noon:", () => {
  test.each<[string, Parameters<typeof schedule>[0], Partial<ReturnType<typeof told>>]>([
    ["nothing is due when the latest run was now", { status: last(NOW) }, { last: 0, made: 7, due: undefined, next: 60 }],
    ["the run of noon is due at noon", { status: last(NOW - HOUR) }, { last: -60, due: 0, next: 60, since: SINCE }],
    ["and a second before it is not", { status: last(NOW - HOUR), atMs: NOW - 1 }, { due: undefined, next: 0 }],
    ["of several that were missed the latest is due", { status: last(NOW - 5 * HOUR), atMs: NOW + MINUTE }, { due: 0, missed: undefined }],
    ["without any run so far they count from the creation", { status: counted({}) }, { last: undefined, made: 0, due: 0 }],
    ["what has been made and is not recorded yet counts", { status: last(NOW - HOUR), backups: [run(NOW)] }, { last: 0, made: 8, due: undefined }],
    ["also several", { status: last(NOW - 3 * HOUR), backups: [run(NOW - 2 * HOUR), run(NOW - HOUR)] }, { last: -60, made: 9, due: 0 }],
    ["what is recorded is not counted again", { status: last(NOW), backups: [run(NOW)] }, { last: 0, made: 7, due: undefined }],
    ["what is recorded counts when it is gone", { status: last(NOW), backups: [run(NOW - HOUR)] }, { last: 0, made: 7, due: undefined }],
    ["a backup of another name counts for nothing", { status: last(NOW - HOUR), backups: [run(NOW, { metadata: { name: "nightly-by-hand" } })] }, { last: -60, made: 7, due: 0 }],
    ["within its deadline a run is due", { status: last(NOW - HOUR), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + MINUTE }, { due: 0, missed: undefined }],
    ["past its deadline it is missed", { status: last(NOW - HOUR), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + MINUTE + 1 }, { due: undefined, missed: 0, next: 60 }],
    ["one that waited for its cluster to be woken is due whatever its deadline says", { status: last(NOW - HOUR, { heldTime: rfc3339(NOW) }), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + MINUTE + 1 }, { due: 0, missed: undefined, next: 60 }],
    ["and the one after it has its deadline", { status: last(NOW - HOUR, { heldTime: rfc3339(NOW - 1_000) }), spec: { startingDeadlineSeconds: 60 }, atMs: NOW + MINUTE + 1 }, { due: undefined, missed: 0 }],
    ["suspended, nothing is due", { status: last(NOW - HOUR), spec: { suspend: true } }, { due: undefined, next: undefined, since: undefined }],
    ["with another schedule on record, nothing is due yet", { status: last(NOW - HOUR, counted({ schedule: "@daily" })) }, { due: undefined, since: undefined }],
    ["with another time zone on record, nothing is due yet", { status: last(NOW - HOUR, counted({ timeZone: "Europe/Berlin" })) }, { due: undefined, since: undefined }],
    ["never looked at, nothing is due yet", { status: {} }, { due: undefined, since: undefined }],
    ["what was due before an edit is not made up for", { status: { ...last(NOW - 5 * HOUR), counted: { schedule: "@hourly", timeZone: "UTC", since: rfc3339(NOW - 30 * MINUTE) } }, atMs: NOW - MINUTE }, { due: undefined, next: 0 }],
    ["what is not understood is never due", { status: last(NOW - HOUR), spec: { timeZone: "Mars/Phobos" } }, { due: undefined, next: undefined, since: undefined, last: -60, made: 7 }],
  ])("%s", (_, given, expected) => expect(told(given)).toMatchObject(expected)); // biome-ignore format: a table
});

describe("immediate:", () => {
  const spec = { immediate: true, schedule: "0 0 1 1 *" };
  const status = counted(spec);
  test.each<[string, Parameters<typeof schedule>[0], number | undefined]>([
    ["the first run is due at once, as of the creation", { spec, status, atMs: NOW - 12 * HOUR - MINUTE }, SINCE],
    ["whatever the deadline says", { spec: { ...spec, startingDeadlineSeconds: 1 }, status, atMs: NOW - 12 * HOUR - MINUTE }, SINCE],
    ["a run that was due since is made in its place", { spec, status }, -12 * 60],
    ["but not when that is past its deadline", { spec: { ...spec, startingDeadlineSeconds: 1 }, status }, SINCE],
    ["not a second time", { spec, status: { ...status, runs: 1 }, atMs: NOW - 12 * HOUR - MINUTE }, undefined],
    ["not when it has been made and is not recorded yet", { spec, status, backups: [run(MADE_MS)], atMs: NOW - 12 * HOUR - MINUTE }, undefined],
    ["not suspended", { spec: { ...spec, suspend: true }, status }, undefined],
    ["not without being asked for", { spec: { ...spec, immediate: false }, status, atMs: NOW - 12 * HOUR - MINUTE }, undefined],
  ])("%s", (_, given, due) => expect(told(given).due).toBe(due)); // biome-ignore format: a table
});

describe("a clock that is wrong:", () => {
  test("put back by an hour, nothing is due until the next run, and that is told", () => {
    expect(told({ status: last(NOW), atMs: NOW - 30 * MINUTE })).toMatchObject({ due: undefined, last: 0, next: 60 });
  });

  test("put back before an edit, nothing is due until then either", () => {
    const since = { counted: { schedule: "@hourly", timeZone: "UTC", since: rfc3339(NOW) } };
    expect(told({ status: { ...last(NOW - 4 * HOUR), ...since }, atMs: NOW - HOUR })).toMatchObject({
      due: undefined,
      next: 60,
    });
  });

  test("that was a day ahead at most is believed, more is not", () => {
    expect(told({ status: last(NOW + DAY) })).toMatchObject({ last: 24 * 60, due: undefined, next: 25 * 60 });
    expect(told({ status: last(NOW + DAY + HOUR) })).toMatchObject({ last: undefined, made: 7, due: 0 });
    const future = run(NOW + 400 * DAY);
    expect(told({ status: last(NOW + 400 * DAY), backups: [future, run(NOW - HOUR)] })).toMatchObject({
      last: -60,
      due: 0,
    });
    expect(told({ status: last(NOW - HOUR), backups: [future] })).toMatchObject({ last: -60, due: 0, made: 7 });
    const since = { counted: { schedule: "@hourly", timeZone: "UTC", since: rfc3339(NOW + DAY + 1_000) } };
    expect(told({ status: { ...last(NOW - HOUR), ...since } })).toMatchObject({ due: undefined, since: undefined });
    since.counted.since = rfc3339(NOW + DAY);
    expect(told({ status: { ...last(NOW - HOUR), ...since } })).toMatchObject({ due: undefined, since: 24 * 60 });
  });
});

test("what takes its time is worked out once for each look, and each schedule", () => {
  const seen = schedule();
  expect(runsOf(seen)).toBe(runsOf(seen));
  expect(calendarFor(seen)).toBe(calendarFor({ ...seen }));
  expect(disposalsIn(seen)).toBe(disposalsIn(seen));
});

test("due times count from the creation when nobody has looked yet, else from now", () => {
  expect(newSinceMs(schedule({ status: {} }))).toBe(MADE_MS);
  expect(newSinceMs(schedule({ status: { observedGeneration: 3 } }))).toBe(NOW);
  expect(newSinceMs(schedule({ status: {}, atMs: MADE_MS - HOUR }))).toBe(MADE_MS - HOUR);
});

describe("the name of a run", () => {
  test("is its due time, and tells it again", () => {
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
  ])("%s is none", (name) => expect(dueTimeOf("nightly", name)).toBeUndefined());
});
