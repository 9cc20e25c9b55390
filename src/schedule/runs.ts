import { millisecondsOf } from "#api/duration.ts";
import { dueTimeOf, scheduledBackupName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { type Calendar, calendarOf, spreadCalendar } from "#schedule/cron.ts";
import { repeatAtMs } from "#schedule/retries.ts";
import { AHEAD_MS, isClusterAsleep, isDeleting, isOwned, madeAtMs, type ScheduleSnapshot } from "#schedule/snapshot.ts";

// How is each run made exactly once?
//   The EtcdBackup's name contains its due time, so it can be created only once, also after a crash between two writes.
//   Made runs are known from EtcdBackups, and from the status for those that are gone. Nothing else is remembered.
// Which runs count as missed?
//   Due times since the latest run, or since the schedule was edited or resumed. So an edit at ten does not make up for
//   a new time at five. Of several missed runs the latest is made.
// When is a failed run repeated?
//   After a pause, if its reason may pass, and only before the next due time. A repetition is another run. The name of
//   its EtcdBackup contains the end of the pause, so it is made once. It counts like the run that it repeats.
// What if the clock is wrong?
//   When it is set back, nothing is due before the latest run. A recorded run that lies more than a day ahead is
//   ignored: waiting for it could take years.

/** Input of these functions: observe.ts needs them before the snapshot is complete. */
export type Seen = Pick<ScheduleSnapshot, "takenAtMs" | "schedule" | "cluster" | "backups">;

export interface Runs {
  /** Due time of the latest run, in milliseconds since 1970. */
  readonly lastMs: number | undefined;
  /** Number of runs made. */
  readonly made: number;
  /** Due time of the run to make now. */
  readonly dueMs: number | undefined;
  /** The latest run that missed its deadline and is skipped. */
  readonly missedMs: number | undefined;
  /** The latest run that waited, or waits, for its cluster to wake. */
  readonly heldMs: number | undefined;
  /** The latest run, if it has failed and is repeated: now if `dueMs` is set, else at `nextMs`. */
  readonly repeated: EtcdBackup | undefined;
  /** Next due time, or the end of the pause before the failed run is repeated. */
  readonly nextMs: number | undefined;
  /** Start of counting; `undefined` while it is not recorded, or the schedule is suspended. */
  readonly sinceMs: number | undefined;
}

/** Cache by schedule object: every rule needs the calendar, and time zones are slow to compute. */
const CALENDARS = new WeakMap<EtcdBackupSchedule, Calendar | string>();
/** Cache by snapshot. */
const RUNS = new WeakMap<Seen, Runs>();

/** Calendar of the schedule: its due times are those at which backups start. @returns a sentence when the spec is invalid */
export function calendarFor({ schedule }: Pick<Seen, "schedule">): Calendar | string {
  const calendar = CALENDARS.get(schedule) ?? spreadFor(schedule);
  CALENDARS.set(schedule, calendar);
  return calendar;
}

function spreadFor(schedule: EtcdBackupSchedule): Calendar | string {
  const { metadata, spec } = schedule;
  const calendar = calendarOf(spec, madeAtMs(schedule));
  const windowMs = millisecondsOf(spec.startWindow ?? "");
  return typeof calendar === "string" || windowMs === undefined
    ? calendar
    : spreadCalendar(calendar, windowMs, metadata.uid);
}

/** Past, due and next runs. */
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
  const none = { dueMs: undefined, missedMs: undefined, heldMs: recordedMs, repeated: undefined };
  if (typeof calendar === "string" || sinceMs === undefined)
    return { ...made, ...none, nextMs: undefined, sinceMs: undefined };
  const afterMs = Math.max(sinceMs, made.lastMs ?? sinceMs);
  const nextMs = calendar.next(Math.max(takenAtMs, afterMs));
  const latestMs = calendar.latest(takenAtMs);
  const pendingMs = latestMs !== undefined && latestMs > afterMs ? latestMs : undefined;
  const firstMs = spec.immediate && made.made === 0 ? madeAtMs(schedule) : undefined;
  if (isClusterAsleep(seen)) return { ...made, ...none, heldMs: pendingMs ?? firstMs ?? recordedMs, nextMs, sinceMs };
  // A run that waited for its cluster to wake is not late: a cluster that sleeps at every due time would never be
  // backed up.
  const isHeld = recordedMs !== undefined && pendingMs !== undefined && pendingMs <= recordedMs;
  const isMissed = pendingMs !== undefined && !isHeld && takenAtMs - pendingMs > lateMsOf(schedule);
  const repetition = pendingMs === undefined ? repetitionOf(seen, made.lastMs, sinceMs, calendar) : undefined;
  const isPausing = repetition !== undefined && repetition.atMs > takenAtMs;
  return {
    ...made,
    dueMs: (isMissed ? undefined : pendingMs) ?? firstMs ?? (isPausing ? undefined : repetition?.atMs),
    missedMs: isMissed ? pendingMs : undefined,
    heldMs: recordedMs,
    repeated: repetition?.failed,
    nextMs: isPausing ? repetition.atMs : nextMs,
    sinceMs,
  };
}

/**
 * When the failed latest run is repeated; `undefined` when it is not. The next due time, the deadline, an edit and a
 * suspension end the repetitions.
 */
function repetitionOf(
  { schedule, backups, takenAtMs }: Seen,
  lastMs: number | undefined,
  sinceMs: number,
  calendar: Calendar,
): { readonly failed: EtcdBackup; readonly atMs: number } | undefined {
  if (lastMs === undefined || lastMs < sinceMs) return undefined;
  const failed = backups.find(({ metadata }) => metadata.name === dueName(schedule, lastMs));
  if (failed === undefined || isDeleting(failed)) return undefined;
  // The first run of spec.immediate has the creation as its due time.
  const dueMs = Math.max(calendar.latest(lastMs) ?? lastMs, Math.min(madeAtMs(schedule), lastMs));
  const atMs = repeatAtMs(failed, dueMs);
  if (atMs === undefined || atMs <= lastMs) return undefined;
  const endMs = calendar.next(lastMs) ?? Number.POSITIVE_INFINITY;
  const startsMs = Math.max(atMs, takenAtMs - PROMPT_MS);
  return atMs < endMs && startsMs - dueMs <= lateMsOf(schedule) ? { failed, atMs } : undefined;
}

/** Grace for a due repetition, in milliseconds: after a longer delay, the whole delay counts towards the deadline. */
const PROMPT_MS = 60_000;

/** How late a run may begin, in milliseconds. */
function lateMsOf({ spec }: EtcdBackupSchedule): number {
  return (spec.startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
}

/** Name of the due EtcdBackup. */
export function dueName(schedule: EtcdBackupSchedule, dueMs: number): string {
  return scheduledBackupName(schedule.metadata.name, dueMs);
}

/** Whether that backup was made, even if its label was removed. */
export function isMade(snapshot: ScheduleSnapshot): boolean {
  return snapshot.namesake !== undefined && isOwned(snapshot, snapshot.namesake);
}

/** From the status, and from backups made since it was written. */
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

/** Parses a recorded time; one more than a day ahead comes from a wrong clock and is ignored. */
function believed({ takenAtMs }: Seen, time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? "");
  return ms <= takenAtMs + AHEAD_MS ? ms : undefined;
}

function dueOf({ metadata }: EtcdBackupSchedule, backup: EtcdBackup): readonly number[] {
  const dueMs = dueTimeOf(metadata.name, backup.metadata.name);
  return dueMs === undefined ? [] : [dueMs];
}

/** Recorded start of counting, if it is for the present spec. */
function sinceOf({ schedule, takenAtMs }: Seen): number | undefined {
  const { spec, status } = schedule;
  const { counted } = status ?? {};
  if (spec.suspend || counted === undefined) return undefined;
  const isSame = (field: "schedule" | "timeZone" | "startWindow") => counted[field] === spec[field];
  if (!isSame("schedule") || !isSame("timeZone") || !isSame("startWindow")) return undefined;
  const sinceMs = Date.parse(counted.since);
  return sinceMs <= takenAtMs + AHEAD_MS ? sinceMs : undefined;
}

/** New start of counting: the creation for a schedule that was never observed, else now. */
export function newSinceMs({ schedule, takenAtMs }: Seen): number {
  const isNew = (schedule.status?.observedGeneration ?? 0) === 0;
  return isNew ? Math.min(madeAtMs(schedule), takenAtMs) : takenAtMs;
}
