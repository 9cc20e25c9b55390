import type { ObjectStore } from "#objectstore/store.ts";
import { AgentError } from "../error.ts";
import { isStoreError } from "../store-error.ts";
import { changesKey, folderOf, namedBy } from "./layout.ts";
import { type Ends, endsOf, type ReadAccess } from "./read.ts";
import { isoOf } from "./recorder.ts";

// Which history does a snapshot belong to?
//   The history that was current when the snapshot was taken. Only times decide, since both histories use the same
//   revisions and cluster ID.
// Which times are trusted?
//   The nodes of archiver and backup have separate clocks, and the archiver notices a restored etcd late when it was
//   down. So the history is uncertain from the last time of the former history to the beginning of the next, and for a
//   margin around it. A snapshot of that time is refused.

export interface WalkAccess extends ReadAccess {
  readonly store: ObjectStore;
  readonly prefix: string;
}

/** The snapshot to which the changes are added. */
export interface Base {
  readonly clusterID: string;
  readonly revision: bigint;
  /** When its backup began. */
  readonly startedMs: number;
  /** When the snapshot was complete. */
  readonly atMs: number;
}

/**
 * Assumed difference between the clocks of two nodes, in milliseconds. Five minutes is a guess: nodes without NTP are
 * further off. If smaller, changes of another history may be added; if larger, more restores need another backup, which
 * the schedule makes after twice as long (close-gap).
 */
const MARGIN_MS = 5 * 60_000;

interface History {
  readonly number: number;
  /** First revisions of its objects. */
  readonly firsts: bigint[];
  readonly quiets: string[];
}

/**
 * Number of the history to which the snapshot belongs. @throws AgentError ArchiveGap when it is uncertain; StoreError
 */
export async function originOf(base: Base, access: WalkAccess): Promise<number> {
  const { clusterID, startedMs, atMs } = base;
  const newestFirst = await historiesOf(clusterID, access);
  for (const [place, { number }] of newestFirst.entries()) {
    // The first history continues from a backup made just before it.
    if (number === 1) return number;
    const beganMs = await beginningOf(number, clusterID, access);
    if (beganMs === undefined || startedMs >= beganMs + MARGIN_MS) return number;
    const before = newestFirst[place + 1];
    const endMs = before && (await endOf(before, clusterID, access));
    if (before === undefined ? atMs > beganMs - MARGIN_MS : endMs === undefined || atMs > endMs - MARGIN_MS)
      throw unknown(base, beganMs, endMs, access);
  }
  const { prefix } = access;
  const none =
    newestFirst.length === 0
      ? `nothing of the cluster ${clusterID} is archived below ${prefix}`
      : `the remaining archive of the cluster ${clusterID} below ${prefix} began after the backup, when etcd had other data; use a later backup`;
  throw new AgentError("ArchiveGap", none);
}

function unknown(
  { clusterID, startedMs, atMs }: Base,
  beganMs: number,
  endMs: number | undefined,
  { prefix }: WalkAccess,
): AgentError {
  const made = `the backup was made from ${isoOf(startedMs)} to ${isoOf(atMs)}`;
  const since =
    endMs === undefined ? `not long before ${isoOf(beganMs)}` : `between ${isoOf(endMs)} and ${isoOf(beganMs)}`;
  const what = `the archive of the cluster ${clusterID} below ${prefix} began a new history ${since}, as when etcd was restored to an earlier state`;
  const before = endMs === undefined ? "" : `from before ${isoOf(endMs - MARGIN_MS)} or `;
  const needed = `use a backup ${before}from after ${isoOf(beganMs + MARGIN_MS)}`;
  return new AgentError("ArchiveGap", `${made}, and ${what}: which data the backup holds is uncertain; ${needed}`);
}

async function historiesOf(clusterID: string, { store, prefix, signal }: WalkAccess): Promise<readonly History[]> {
  const histories = new Map<number, History>();
  for await (const { key } of store.list(`${prefix}/${clusterID}-`, { signal })) {
    const named = namedBy(prefix, key);
    if (named?.clusterID !== clusterID) continue;
    const { number } = named;
    const history = histories.get(number) ?? { number, firsts: [], quiets: [] };
    histories.set(number, history);
    if (named.kind === "quiet") history.quiets.push(key);
    else history.firsts.push(named.first);
  }
  return [...histories.values()].sort((a, b) => b.number - a.number);
}

/** Undefined when the first object was old enough to be deleted. */
async function beginningOf(number: number, clusterID: string, access: WalkAccess): Promise<number | undefined> {
  const key = changesKey(folderOf(access.prefix, { clusterID, number }), 0n);
  const began = await thereOf(key, access);
  return began && Date.parse(began.closing.until);
}

/** Time until which the history is known to have continued; undefined: unknown. */
async function endOf({ number, firsts, quiets }: History, clusterID: string, access: WalkAccess) {
  const folder = folderOf(access.prefix, { clusterID, number });
  for (const first of firsts.sort((a, b) => (a < b ? 1 : -1))) {
    try {
      const last = await thereOf(changesKey(folder, first), access);
      if (last !== undefined) return await quietUntil(last, quiets, access);
    } catch (thrown) {
      // A corrupt last object also begins a new history; then the object before it counts.
      if (!(thrown instanceof AgentError)) throw thrown;
      if (thrown.reason !== "ArchiveCorrupt") return undefined;
    }
  }
  return undefined;
}

/** Time until which nothing happened after this last object. */
export async function quietUntil(last: Ends, quiets: readonly string[], access: ReadAccess): Promise<number> {
  let untilMs = Date.parse(last.closing.until);
  for (const key of quiets) {
    const quiet = await thereOf(key, access); // Undefined when the archiver has stored a newer one since.
    if (quiet?.opening.previous?.sha256 !== last.sha256) continue;
    untilMs = Math.max(untilMs, Date.parse(quiet.closing.until));
  }
  return untilMs;
}

/** @returns undefined when the object is gone @throws AgentError ArchiveCorrupt; StoreError */
export async function thereOf(key: string, access: ReadAccess): Promise<Ends | undefined> {
  return await endsOf(key, access).catch((thrown: unknown) => {
    if (isStoreError(thrown, "NoSuchObject")) return undefined;
    throw thrown;
  });
}
