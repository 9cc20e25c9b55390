import type { ObjectStore } from "#objectstore/store.ts";
import type { EncryptionKey } from "../archive/key.ts";
import { AgentError } from "../error.ts";
import { changesKey, folderOf, namedBy } from "./layout.ts";
import { type Ends, endsOf } from "./read.ts";

/** End of the stored changes of one cluster, as far as needed to continue. */
export type Tip = (EmptyTip | StoredTip) & {
  /** Keys of the objects which record that nothing happened after a revision. */
  readonly quiets: readonly string[];
};

type EmptyTip = ({ readonly kind: "none" } | { readonly kind: "unreadable"; readonly why: string }) & {
  /** Number of the newest history; 0: none exists. */
  readonly number: number;
};

interface StoredTip {
  readonly kind: "stored";
  readonly number: number;
  readonly ends: Ends;
  /** Time until which etcd had no change after the last revision in `ends`, since 1970. */
  readonly untilMs: number;
}

export type Stored = Extract<Tip, { readonly kind: "stored" }>;

export interface HistoryPlace {
  readonly store: ObjectStore;
  readonly prefix: string;
  readonly clusterID: string;
  readonly key: EncryptionKey | undefined;
  readonly signal: AbortSignal;
}

/** The last object of the newest history. @throws StoreError */
export async function findTip(place: HistoryPlace): Promise<Tip> {
  const { store, prefix, clusterID, signal } = place;
  let number = 0;
  let last = -1n;
  let untilMs = 0;
  const quiets: string[] = [];
  for await (const { key } of store.list(`${prefix}/${clusterID}-`, { signal })) {
    const named = namedBy(prefix, key);
    if (named === undefined || named.clusterID !== clusterID || named.number < number) continue;
    if (named.number > number) [number, last, untilMs] = [named.number, -1n, 0];
    if (named.kind === "quiet") {
      quiets.push(key);
      untilMs = Math.max(untilMs, named.untilMs);
    } else if (named.first > last) last = named.first;
  }
  if (last < 0n) return { kind: "none", number, quiets };
  const tip = await readTip(place, number, changesKey(folderOf(prefix, { clusterID, number }), last));
  return tip.kind === "stored" ? { ...tip, quiets, untilMs: Math.max(tip.untilMs, untilMs) } : { ...tip, quiets };
}

export async function readTip(place: HistoryPlace, number: number, objectKey: string): Promise<Tip> {
  try {
    const ends = await endsOf(objectKey, place);
    return { kind: "stored", number, ends, untilMs: Date.parse(ends.closing.until), quiets: [] };
  } catch (thrown) {
    if (!(thrown instanceof AgentError) || !["ArchiveCorrupt", "BadKey"].includes(thrown.reason)) throw thrown;
    return { kind: "unreadable", number, why: thrown.message, quiets: [] };
  }
}

export function lastOf(tip: Stored): bigint {
  return BigInt(tip.ends.closing.last);
}
