import { dueTimeOf, scheduledBackupName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { type Calendar, calendarOf } from "#schedule/cron.ts";
import { AHEAD_MS, isClusterAsleep, isOwned, madeAtMs, type ScheduleSnapshot } from "#schedule/snapshot.ts";

// How does no run come twice, and none get lost?
//   An EtcdBackup has the name of its due time, so that a run can be made but once, whoever dies between two writes. What has been made is
//   known from the EtcdBackups themselves, and from the status, which also remembers those that are gone. Nothing else is remembered.
// What counts as missed?
//   Due times since the latest run, or since the schedule was edited or resumed: an edit at ten does not make up for a new time at five. Of
//   all that were missed the latest is made.
// What if the clock is wrong?
//   When it is put back, nothing is due before the latest run. When it was so wrong that the latest run lies days ahead, that is not
//   believed any more: to wait for it could take years.

/** What these functions ask for: observe.ts asks before it has the whole. */
export type Seen = Pick<ScheduleSnapshot, "takenAtMs" | "schedule" | "cluster" | "backups">;

export interface Runs {
  /** The due time of the latest run that was made, in milliseconds since 1970. */
  readonly lastMs: number | undefined;
  /** How many have been made. */
  readonly made: number;
  /** The run that is due now. */
  readonly dueMs: number | undefined;
  /** The latest run that is past its deadline, and is not made any more. */
  readonly missedMs: number | undefined;
  /** The latest one that waited for its cluster to be woken, or does so now. */
  readonly heldMs: number | undefined;
  /** When the next one is due. */
  readonly nextMs: number | undefined;
  /** From when on due times count; `undefined` while that is not on record, or the schedule is suspended. */
  readonly sinceMs: number | undefined;
}

/** By schedule as it was read: every rule asks, and time zones take their time. */
const CALENDARS = new WeakMap<EtcdBackupSchedule, Calendar | string>();
/** By snapshot. */
const RUNS = new WeakMap<Seen, Runs>();

/** By which calendar the schedule goes. @returns a sentence when it is none */
export function calendarFor({ schedule }: Pick<Seen, "schedule">): Calendar | string {
  const calendar = CALENDARS.get(schedule) ?? calendarOf(schedule.spec, madeAtMs(schedule));
  CALENDARS.set(schedule, calendar);
  return calendar;
}

/** Which runs have been, are due, and come. */
export function runsOf(seen: Seen): Runs {
  const runs = RUNS.get(seen) ?? countedRuns(seen);
  RUNS.set(seen, runs);
  return runs;
}

function countedRuns(seen: Seen): Runs {
  const { schedule, takenAtMs } = seen;
  const { spec } = schedule;
  const made = madeRuns(seen);
  const calendar = calendarFor(seen);
  const sinceMs = sinceOf(seen);
  const recordedMs = believed(seen, schedule.status?.heldTime);
  const none = { dueMs: undefined, missedMs: undefined, heldMs: recordedMs };
  if (typeof calendar === "string" || sinceMs === undefined)
    return { ...made, ...none, nextMs: undefined, sinceMs: undefined };
  const afterMs = Math.max(sinceMs, made.lastMs ?? sinceMs);
  const nextMs = calendar.next(Math.max(takenAtMs, afterMs));
  const latestMs = calendar.latest(takenAtMs);
  const pendingMs = latestMs !== undefined && latestMs > afterMs ? latestMs : undefined;
  const firstMs = spec.immediate && made.made === 0 ? madeAtMs(schedule) : undefined;
  if (isClusterAsleep(seen)) return { ...made, ...none, heldMs: pendingMs ?? firstMs ?? recordedMs, nextMs, sinceMs };
  const lateMs = (spec.startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  // What waited for its cluster to be woken is not late: who sleeps over every due time would never be backed up.
  const isHeld = recordedMs !== undefined && pendingMs !== undefined && pendingMs <= recordedMs;
  const isMissed = pendingMs !== undefined && !isHeld && takenAtMs - pendingMs > lateMs;
  return {
    ...made,
    dueMs: isMissed ? firstMs : (pendingMs ?? firstMs),
    missedMs: isMissed ? pendingMs : undefined,
    heldMs: recordedMs,
    nextMs,
    sinceMs,
  };
}

/** The name of the EtcdBackup that is due. */
export function dueName(schedule: EtcdBackupSchedule, dueMs: number): string {
  return scheduledBackupName(schedule.metadata.name, dueMs);
}

/** Whether that backup has been made: also when its label was taken away. */
export function isMade(snapshot: ScheduleSnapshot): boolean {
  return snapshot.namesake !== undefined && isOwned(snapshot, snapshot.namesake);
}

/** From the status, and from what was made since it was written. */
function madeRuns(seen: Seen): { lastMs: number | undefined; made: number } {
  const { schedule, backups, takenAtMs } = seen;
  const { lastScheduleTime, runs = 0 } = schedule.status ?? {};
  const isBelieved = (ms: number) => ms <= takenAtMs + AHEAD_MS;
  const recordedMs = lastScheduleTime === undefined ? undefined : Date.parse(lastScheduleTime);
  const fromMs = recordedMs !== undefined && isBelieved(recordedMs) ? recordedMs : Number.NEGATIVE_INFINITY;
  const dueTimes = backups.flatMap((backup) => dueOf(schedule, backup)).filter(isBelieved);
  const newer = dueTimes.filter((ms) => ms > (recordedMs ?? Number.NEGATIVE_INFINITY));
  const lastMs = Math.max(fromMs, ...dueTimes);
  return { lastMs: lastMs === Number.NEGATIVE_INFINITY ? undefined : lastMs, made: runs + newer.length };
}

/** A time on record; one that lies days ahead is of a clock that was wrong. */
function believed({ takenAtMs }: Seen, time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? "");
  return ms <= takenAtMs + AHEAD_MS ? ms : undefined;
}

function dueOf({ metadata }: EtcdBackupSchedule, backup: EtcdBackup): readonly number[] {
  const dueMs = dueTimeOf(metadata.name, backup.metadata.name);
  return dueMs === undefined ? [] : [dueMs];
}

/** What is on record of the schedule as it is now. */
function sinceOf({ schedule, takenAtMs }: Seen): number | undefined {
  const { spec, status } = schedule;
  const { counted } = status ?? {};
  if (spec.suspend || counted === undefined) return undefined;
  if (counted.schedule !== spec.schedule || counted.timeZone !== spec.timeZone) return undefined;
  const sinceMs = Date.parse(counted.since);
  return sinceMs <= takenAtMs + AHEAD_MS ? sinceMs : undefined;
}

/** From when on due times are to count, when that is not on record: from the creation, if nobody has ever looked at it. */
export function newSinceMs({ schedule, takenAtMs }: Seen): number {
  return schedule.status?.observedGeneration === undefined ? Math.min(madeAtMs(schedule), takenAtMs) : takenAtMs;
}
