import { spanMsOf } from "#api/duration.ts";
import type { Retention } from "#api/v1beta1/schedule.ts";

// How does a retention count?
//   Each rule keeps backups, and a backup kept by any rule stays. Ages are relative to the latest backup, and only days
//   with a backup count. So without new backups nothing is deleted, whatever the clock. Each etcd counts separately, by
//   cluster ID. So a cluster created again under the same name, perhaps by mistake, does not displace the last backups
//   of the lost one.
// Which of two backups is later?
//   Revision and time are both used, and a backup kept by either stays. With a clock that was set back, the newest
//   looks like the oldest. So it does by revision when etcd was restored to an earlier state with its ID, from a volume
//   snapshot or by etcdutl.

/** A backup with a stored object. */
export interface Stored {
  readonly name: string;
  /** Creation time, in milliseconds since 1970. */
  readonly atMs: number;
  /** Cluster ID of its etcd. */
  readonly etcd: string;
  /** Revision up to which it is complete; 0 when unknown. */
  readonly revision: bigint;
  /** Whether its verification succeeded. */
  readonly isVerified?: boolean;
}

/** How far back the archive reaches, as `spec.archive.keepFor`. */
interface Archived {
  readonly archiveFor?: string;
}

/**
 * Names of the backups that are kept. They include the latest of each etcd by revision and by time, and the latest
 * verified one: all later ones may be damaged.
 */
export function keptOf(all: readonly Stored[], retention: Retention & Archived, timeZone: string): ReadonlySet<string> {
  const dayOf = onceEach(daysIn(timeZone));
  const kept = ORDERS.flatMap((newestFirst) => {
    const groups = Map.groupBy(all.toSorted(newestFirst), ({ etcd }) => etcd);
    return [...groups.values()].flatMap((group) => keptOfOne(group, retention, dayOf));
  });
  return new Set(kept.map(({ name }) => name));
}

/** @param group backups of one etcd, newest first */
function keptOfOne(
  group: readonly Stored[],
  retention: Retention & Archived,
  dayOf: (ms: number) => Day,
): readonly Stored[] {
  const { keepLast = 0, keepFor, keepDaily = 0, keepWeekly = 0, keepMonthly = 0 } = retention;
  const newestMs = Math.max(...group.map(({ atMs }) => atMs));
  const keepForMs = keepFor === undefined ? -1 : spanOf(keepFor);
  return [
    ...group.slice(0, Math.max(1, keepLast)),
    ...group.filter(({ isVerified }) => isVerified).slice(0, 1),
    ...group.filter(({ atMs }) => newestMs - atMs <= keepForMs),
    ...basesIn(group, newestMs, retention.archiveFor),
    ...lastOfEach(group, keepDaily, (ms) => dayOf(ms).day),
    ...lastOfEach(group, keepWeekly, (ms) => Math.floor((dayOf(ms).day + MONDAY) / 7)),
    ...lastOfEach(group, keepMonthly, (ms) => dayOf(ms).month),
  ];
}

/**
 * Backups that the archive needs: changes are usable only with an earlier backup. All within the archive's span, and
 * the last one before it.
 */
function basesIn(group: readonly Stored[], newestMs: number, archiveFor: string | undefined): readonly Stored[] {
  if (archiveFor === undefined) return [];
  const isWithin = ({ atMs }: Stored) => newestMs - atMs <= spanOf(archiveFor);
  const first = group.find((each) => !isWithin(each));
  return [...group.filter(isWithin), ...(first === undefined ? [] : [first])];
}

/** The newest backup of each of the latest periods that have one. */
function lastOfEach(
  group: readonly Stored[],
  periods: number,
  periodOf: (ms: number) => number | string,
): readonly Stored[] {
  const newest = [...Map.groupBy(group, ({ atMs }) => periodOf(atMs)).values()];
  return newest.slice(0, periods).flatMap(([first]) => first ?? []);
}

/** Sorts by time; of the same second, the greater name is newer: it was due later. */
function youngestFirst(a: Stored, b: Stored): number {
  return b.atMs - a.atMs || b.name.localeCompare(a.name);
}

/** Sorts by revision, then by time. */
function furthestFirst(a: Stored, b: Stored): number {
  if (a.revision !== b.revision) return a.revision < b.revision ? 1 : -1;
  return youngestFirst(a, b);
}

const ORDERS = [furthestFirst, youngestFirst] as const;

/** Milliseconds of a span; an invalid text keeps everything. */
function spanOf(text: string): number {
  return spanMsOf(text) ?? Number.POSITIVE_INFINITY;
}

interface Day {
  /** Days since 1970-01-01. */
  readonly day: number;
  /** Year and month. */
  readonly month: string;
}

/** 1970-01-01 was a Thursday, three days after the Monday of its week. */
const MONDAY = 3;

/** Caches days: three rules ask for each of thousands of backups, and time zones are slow to compute. */
function onceEach(dayOf: (ms: number) => Day): (ms: number) => Day {
  const known = new Map<number, Day>();
  return (ms) => {
    const day = known.get(ms) ?? dayOf(ms);
    known.set(ms, day);
    return day;
  };
}

/** Maps a time to its day in the time zone. */
function daysIn(timeZone: string): (ms: number) => Day {
  const format = new Intl.DateTimeFormat("en", { timeZone, year: "numeric", month: "numeric", day: "numeric" });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const [year = 0, month = 0, day = 0] = [parts.get("year"), parts.get("month"), parts.get("day")];
    return { day: Date.UTC(year, month - 1, day) / 86_400_000, month: `${year}-${month}` };
  };
}
