import type { Retention } from "#api/v1beta1/schedule.ts";

// How is it counted?
//   Each rule says what is kept, and what one of them keeps is kept. Ages are counted back from the latest backup, and days are those that
//   have one: as long as no new backup comes, nothing is given away, whatever the clock says. Each etcd counts by itself, by its ID: one that
//   was made anew under the same name, perhaps by mistake, does not push out the last backups of the one that was lost.
// Which of two is later?
//   Both etcd's revisions and the clock are asked, and what is kept by one of them is kept. A clock that was put back has the newest taken for the
//   oldest; so have revisions, when etcd was brought back to an earlier state with its ID kept: from a snapshot of its volume, or by etcdutl.

/** A backup whose object is stored. */
export interface Stored {
  readonly name: string;
  /** When it was made, in milliseconds since 1970. */
  readonly atMs: number;
  /** Of which etcd. */
  readonly etcd: string;
  /** Up to which revision of it; 0 when that is not known. */
  readonly revision: bigint;
}

/** How far back changes are archived. */
interface Archived {
  readonly archiveForSeconds?: number;
}

/** The names of those that are kept. The latest one of each etcd always is, by its revision and by the clock. */
export function keptOf(all: readonly Stored[], retention: Retention & Archived, timeZone: string): ReadonlySet<string> {
  const dayOf = onceEach(daysIn(timeZone));
  const kept = ORDERS.flatMap((newestFirst) => {
    const groups = Map.groupBy(all.toSorted(newestFirst), ({ etcd }) => etcd);
    return [...groups.values()].flatMap((group) => keptOfOne(group, retention, dayOf));
  });
  return new Set(kept.map(({ name }) => name));
}

/** @param group of one etcd, the newest first */
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
    ...group.filter(({ atMs }) => newestMs - atMs <= keepForMs),
    ...basesIn(group, newestMs, retention.archiveForSeconds),
    ...lastOfEach(group, keepDaily, (ms) => dayOf(ms).day),
    ...lastOfEach(group, keepWeekly, (ms) => Math.floor((dayOf(ms).day + MONDAY) / 7)),
    ...lastOfEach(group, keepMonthly, (ms) => dayOf(ms).month),
  ];
}

/** Changes are of use with a backup from before them only: all since the archive begins, and the one with which it begins. */
function basesIn(group: readonly Stored[], newestMs: number, archiveForSeconds: number | undefined): readonly Stored[] {
  if (archiveForSeconds === undefined) return [];
  const isWithin = ({ atMs }: Stored) => newestMs - atMs <= archiveForSeconds * 1_000;
  const first = group.find((each) => !isWithin(each));
  return [...group.filter(isWithin), ...(first === undefined ? [] : [first])];
}

/** The newest of each of the latest periods that have one. */
function lastOfEach(
  group: readonly Stored[],
  periods: number,
  periodOf: (ms: number) => number | string,
): readonly Stored[] {
  const newest = [...Map.groupBy(group, ({ atMs }) => periodOf(atMs)).values()];
  return newest.slice(0, periods).flatMap(([first]) => first ?? []);
}

/** By the clock. Of two of the same second, the one whose name is greater: it was due later. */
function youngestFirst(a: Stored, b: Stored): number {
  return b.atMs - a.atMs || b.name.localeCompare(a.name);
}

/** By what etcd counts itself, then by the clock. */
function furthestFirst(a: Stored, b: Stored): number {
  if (a.revision !== b.revision) return a.revision < b.revision ? 1 : -1;
  return youngestFirst(a, b);
}

const ORDERS = [furthestFirst, youngestFirst] as const;

const UNITS_MS: Readonly<Record<string, number>> = {
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
};

/** `30d` or `1w12h`, in milliseconds; what is none keeps everything. */
function spanOf(text: string): number {
  if (!/^(\d+[wdhms])+$/.test(text)) return Number.POSITIVE_INFINITY;
  return [...text.matchAll(/(\d+)([wdhms])/g)].reduce(
    (sum, [, n, unit = ""]) => sum + Number(n) * (UNITS_MS[unit] as number),
    0,
  );
}

interface Day {
  /** Counted from 1970-01-01. */
  readonly day: number;
  /** Of its year. */
  readonly month: string;
}

/** 1970-01-01 was a Thursday: so many days after the Monday with which its week began. */
const MONDAY = 3;

/** Three rules ask for the day of each of thousands of backups, and time zones take their time. */
function onceEach(dayOf: (ms: number) => Day): (ms: number) => Day {
  const known = new Map<number, Day>();
  return (ms) => {
    const day = known.get(ms) ?? dayOf(ms);
    known.set(ms, day);
    return day;
  };
}

/** On which day of this time zone a moment is. */
function daysIn(timeZone: string): (ms: number) => Day {
  const format = new Intl.DateTimeFormat("en", { timeZone, year: "numeric", month: "numeric", day: "numeric" });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const [year = 0, month = 0, day = 0] = [parts.get("year"), parts.get("month"), parts.get("day")];
    return { day: Date.UTC(year, month - 1, day) / 86_400_000, month: `${year}-${month}` };
  };
}
