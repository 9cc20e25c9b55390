import type { ObjectStore } from "#objectstore/store.ts";
import { AgentError } from "../error.ts";
import { isStoreError } from "../store-error.ts";
import { changesKey, folderOf, namedBy } from "./layout.ts";
import { type Ends, endsOf, type ReadAccess } from "./read.ts";
import { isoOf } from "./recorder.ts";

// Of which history is a snapshot?
//   Of the one that went on when it was taken. Only times tell that, since both histories count the same revisions and etcd calls itself the same.
// Which times are trusted?
//   The archiver's node and the backup's have a clock each. And an etcd that was brought back is another one before the archiver notices, which may
//   have been away. So between the last time at which the former history was known to go on and the beginning of the next one nobody knows, nor
//   so near to these times that a clock that is minutes wrong would make a difference: such a snapshot is refused.

export interface WalkAccess extends ReadAccess {
  readonly store: ObjectStore;
  readonly prefix: string;
}

/** Where a walk starts: the snapshot to which the changes are added. */
export interface Base {
  readonly clusterID: string;
  readonly revision: bigint;
  /** When its backup began. */
  readonly startedMs: number;
  /** When the snapshot was complete. */
  readonly atMs: number;
}

/**
 * How much the clocks of two nodes may differ, in milliseconds. Five minutes is a guess: who has no NTP at all is further off. Too small: changes of another history
 * are added to a backup. Too large: a restore needs another backup. The schedule has one made after twice as long (close-gap).
 */
const MARGIN_MS = 5 * 60_000;

interface History {
  readonly number: number;
  /** First revisions of its objects. */
  readonly firsts: bigint[];
  readonly quiets: string[];
}

/** The number of the history that went on when the snapshot was taken. @throws AgentError ArchiveGap when that is not known; StoreError */
export async function originOf(base: Base, access: WalkAccess): Promise<number> {
  const { clusterID, startedMs, atMs } = base;
  const newestFirst = await historiesOf(clusterID, access);
  for (const [place, { number }] of newestFirst.entries()) {
    // The very first one goes on from what a backup has that was made a moment before.
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
      : `what is left of the archive of the cluster ${clusterID} below ${prefix} began after the backup was made, when etcd had other data; a later backup is needed`;
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
  const what = `the archive of the cluster ${clusterID} below ${prefix} began anew, as it does where etcd was brought back to an earlier state, ${since}`;
  const before = endMs === undefined ? "" : `from before ${isoOf(endMs - MARGIN_MS)} or `;
  const needed = `a backup ${before}from after ${isoOf(beganMs + MARGIN_MS)} is needed`;
  return new AgentError("ArchiveGap", `${made}, and ${what}: which data it holds is not known for sure; ${needed}`);
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

/** Undefined when that was deleted, since it was old enough. */
async function beginningOf(number: number, clusterID: string, access: WalkAccess): Promise<number | undefined> {
  const key = changesKey(folderOf(access.prefix, { clusterID, number }), 0n);
  const began = await thereOf(key, access);
  return began && Date.parse(began.closing.until);
}

/** Until when it is known to have gone on; undefined: nobody knows. */
async function endOf({ number, firsts, quiets }: History, clusterID: string, access: WalkAccess) {
  const folder = folderOf(access.prefix, { clusterID, number });
  for (const first of firsts.sort((a, b) => (a < b ? 1 : -1))) {
    try {
      const last = await thereOf(changesKey(folder, first), access);
      if (last !== undefined) return await quietUntil(last, quiets, access);
    } catch (thrown) {
      // Where the last one is broken another history begins, too, and the one before tells.
      if (!(thrown instanceof AgentError)) throw thrown;
      if (thrown.reason !== "ArchiveCorrupt") return undefined;
    }
  }
  return undefined;
}

/** Until when nothing happened after this object, which is the last one. */
export async function quietUntil(last: Ends, quiets: readonly string[], access: ReadAccess): Promise<number> {
  let untilMs = Date.parse(last.closing.until);
  for (const key of quiets) {
    const quiet = await thereOf(key, access); // Or the archiver has stored a newer one.
    if (quiet?.opening.previous?.sha256 !== last.sha256) continue;
    untilMs = Math.max(untilMs, Date.parse(quiet.closing.until));
  }
  return untilMs;
}

/** @returns undefined when it is gone @throws AgentError ArchiveCorrupt; StoreError */
export async function thereOf(key: string, access: ReadAccess): Promise<Ends | undefined> {
  return await endsOf(key, access).catch((thrown: unknown) => {
    if (isStoreError(thrown, "NoSuchObject")) return undefined;
    throw thrown;
  });
}
