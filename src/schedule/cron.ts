import { Cron, CronPattern } from "croner";
import { millisecondsOf } from "#api/duration.ts";
import type { EtcdBackupScheduleSpec } from "#api/v1beta1/schedule.ts";
import { partOf } from "#base/hash.ts";
import { quoted } from "#base/json.ts";
import { cronPattern } from "#schedule/cron-fields.ts";

// Which syntax do schedules have?
//   That of https://pkg.go.dev/github.com/robfig/cron/v3, as in the operator of 2020 and in Kubernetes' CronJobs. It is
//   validated here and translated for croner, which handles calendars and time zones.
// What about days on which clocks change?
//   A skipped time is due at the moment of the change, and a repeated time once: a nightly backup is made exactly once
//   each night. A schedule with * for hour or minute follows elapsed time, like cron on Linux.

/** Due times: an unlimited, fixed sequence, in milliseconds since 1970. */
export interface Calendar {
  /** The latest due time not after this moment. */
  latest(ms: number): number | undefined;
  /** The first due time after this moment. */
  next(ms: number): number | undefined;
}

const DESCRIPTORS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

const SECOND_MS = 1_000;
/**
 * Longest period of @every: ten years, in milliseconds. After some thousands of such periods a due time would be no
 * valid date.
 */
const LONGEST_MS = 87_660 * 3_600_000;

/**
 * Due times of a schedule.
 * @param anchorMs start of the periods of `@every`
 * @returns a sentence when the spec is invalid: the field, its value and what it may be
 */
export function calendarOf(
  { schedule, timeZone }: Pick<EtcdBackupScheduleSpec, "schedule" | "timeZone">,
  anchorMs: number,
): Calendar | string {
  if (!isTimeZone(timeZone))
    return `spec.timeZone is ${quoted(timeZone)}; it must be the name of a time zone that the operator knows, such as Europe/Berlin or UTC`;
  const text = schedule.trim().toLowerCase();
  const [, period] = /^@every +(\S+)$/.exec(text) ?? [];
  if (period !== undefined) return everyCalendar(period, anchorMs);
  const fields = Object.hasOwn(DESCRIPTORS, text) ? (DESCRIPTORS[text] ?? "") : text;
  const pattern = cronPattern(fields);
  return typeof pattern === "string"
    ? `spec.schedule is ${quoted(schedule)}; ${pattern}`
    : cronCalendar(pattern.pattern, timeZone, schedule);
}

/**
 * The calendar with each due time moved by a fixed part of the window, but not beyond the next due time.
 * @param windowMs length of the window in milliseconds
 * @param uid of the EtcdBackupSchedule, from which the part is derived
 */
export function spreadCalendar({ latest, next }: Calendar, windowMs: number, uid: string): Calendar {
  const part = partOf(uid);
  // Whole seconds, as in the names of EtcdBackups.
  const moved = (ms: number) => {
    const mostMs = Math.min(windowMs, (next(ms) ?? Number.POSITIVE_INFINITY) - ms);
    return ms + Math.floor((part * mostMs) / SECOND_MS) * SECOND_MS;
  };
  const movedOf = (ms: number | undefined) => (ms === undefined ? undefined : moved(ms));
  return {
    latest(ms) {
      const last = latest(ms);
      return last === undefined || moved(last) <= ms ? movedOf(last) : movedOf(latest(last - SECOND_MS));
    },
    next(ms) {
      const last = latest(ms);
      return last === undefined || moved(last) <= ms ? movedOf(next(ms)) : moved(last);
    },
  };
}

function everyCalendar(period: string, anchorMs: number): Calendar | string {
  const exactMs = millisecondsOf(period);
  if (exactMs === undefined || exactMs === 0)
    return `spec.schedule is ${quoted(`@every ${period}`)}; after @every it must have a duration such as 1h30m`;
  if (exactMs > LONGEST_MS)
    return `spec.schedule is ${quoted(`@every ${period}`)}; after @every it must be ten years (87660h) at most`;
  // Whole seconds, at least one.
  const everyMs = Math.max(1, Math.floor(exactMs / SECOND_MS)) * SECOND_MS;
  const at = (n: number) => (n > 0 ? anchorMs + n * everyMs : undefined);
  const count = (ms: number) => Math.floor((ms - anchorMs) / everyMs);
  return { latest: (ms) => at(count(ms)), next: (ms) => at(Math.max(0, count(ms)) + 1) };
}

function cronCalendar(pattern: string, timezone: string, schedule: string): Calendar | string {
  if (!hasDay(pattern)) return `spec.schedule is ${quoted(schedule)}; no year has that day, so it would never be due`;
  const cron = new Cron(pattern, { timezone, mode: "5-part", fixedTimeRule: "no-wildcard" });
  return {
    // croner looks strictly before the given moment, with a resolution of seconds.
    latest: (ms) => cron.previousRuns(1, new Date((Math.floor(ms / SECOND_MS) + 1) * SECOND_MS))[0]?.getTime(),
    next: (ms) => cron.nextRun(new Date(Math.floor(ms / SECOND_MS) * SECOND_MS))?.getTime(),
  };
}

/** Last day of a month in a leap year. @param month 0 to 11 */
function lastDay(month: number): number {
  return new Date(Date.UTC(2024, month + 1, 0)).getUTCDate();
}

/** Whether any year has the requested day of the month. croner would search through a thousand years. */
function hasDay(pattern: string): boolean {
  const { day, month, starDOW } = new CronPattern(pattern, undefined, { mode: "5-part" });
  return !starDOW || month.some((isMeant, place) => isMeant === 1 && day.slice(0, lastDay(place)).includes(1));
}

function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false; // an unknown name is a RangeError
  }
}
