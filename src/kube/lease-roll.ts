import type { Lease } from "./kinds.ts";

// Which processes hold a lease together, as the lease itself says: for each a count of its renewals. Nobody compares clocks: that a process
// goes on is seen by its count, and since when it does not, by the clock of who looks.

/** On a lease that is held by a group: a count for each of its processes, as JSON. */
export const ROLL_ANNOTATION = "etcd.improbable.io/processes";

/** Renewals by process. */
export type Roll = ReadonlyMap<string, number>;

/** Stands for whoever was on a roll that cannot be read. Nobody counts on for it, so it is struck out when those have counted anew, or have ended. */
const SOMEBODY = "?";

/** The roll of a lease that is held by this group; of every other one it is of former times, and empty. */
export function rollOf(lease: Lease | undefined, group: string): Roll {
  if (lease?.spec?.holderIdentity !== group) return new Map();
  return read(lease.metadata.annotations?.[ROLL_ANNOTATION]) ?? new Map([[SOMEBODY, 0]]);
}

function read(text = ""): Roll | undefined {
  try {
    const said: unknown = JSON.parse(text);
    if (typeof said !== "object" || said === null || Array.isArray(said)) return undefined;
    const entries = Object.entries(said);
    return entries.every(([, count]) => Number.isSafeInteger(count)) ? new Map(entries) : undefined;
  } catch {
    return undefined;
  }
}

/** As it stands on the lease. */
export function rollText(roll: Roll): string {
  return JSON.stringify(Object.fromEntries([...roll].toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** Since when each count has been seen as it is, in milliseconds. */
export type SeenRoll = ReadonlyMap<string, { readonly count: number; readonly sinceMs: number }>;

/** What is seen now: a count that has changed is of now, one that is gone is forgotten. */
export function seenRoll(before: SeenRoll, roll: Roll, nowMs: number): SeenRoll {
  const entries = [...roll].map(([name, count]) => {
    const known = before.get(name);
    return [name, known?.count === count ? known : { count, sinceMs: nowMs }] as const;
  });
  return new Map(entries);
}

/** Who has counted on within this time. */
export function aliveIn(seen: SeenRoll, withinMs: number, nowMs: number): readonly string[] {
  const alive = [...seen].filter(([, { sinceMs }]) => nowMs - sinceMs < withinMs);
  return alive.map(([name]) => name).toSorted();
}

/**
 * The roll with which `me` renews, or leaves: without those who have not counted on for a lease's time, and so have stopped acting.
 * @param count undefined: it leaves
 */
export function nextRoll(
  roll: Roll,
  seen: SeenRoll,
  me: {
    readonly name: string;
    readonly count: number | undefined;
    readonly durationMs: number;
    readonly nowMs: number;
  },
): Roll {
  const isOver = (name: string): boolean => me.nowMs - (seen.get(name)?.sinceMs ?? me.nowMs) >= me.durationMs;
  const others = [...roll].filter(([name]) => name !== me.name && !isOver(name));
  return new Map(me.count === undefined ? others : [...others, [me.name, me.count]]);
}
