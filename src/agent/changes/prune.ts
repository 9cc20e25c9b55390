import type { ObjectStore } from "#objectstore/store.ts";
import { folderOf, namedBy } from "./layout.ts";

/** Interval between searches for old objects, in milliseconds. */
export const PRUNE_EVERY_MS = 60 * 60_000;

/** Prefix and cluster of an archive. */
export interface PrunePlace {
  readonly prefix: string;
  readonly clusterID: string;
  /** The last object, after which the archiver continues. */
  readonly last: string;
}

/** Maximum age of an object, in milliseconds, by this node's clock. */
export interface Age {
  readonly nowMs: number;
  readonly keepForMs: number;
}

/**
 * Deletes old objects of a cluster. It keeps the last object, and the first of each remaining history: that determines
 * to which history a backup belongs. Age is relative to the newest object, as for a schedule's backups: a clock that is
 * days ahead deletes nothing too early.
 * @returns the number of deleted objects
 */
export async function prune(
  store: Pick<ObjectStore, "list" | "delete">,
  { prefix, clusterID, last }: PrunePlace,
  { nowMs, keepForMs }: Age,
  signal: AbortSignal,
): Promise<number> {
  const listed = () => store.list(`${prefix}/${clusterID}-`, { signal });
  // Listed twice instead of kept in memory: a week has tens of thousands of objects.
  let newestMs = Number.NEGATIVE_INFINITY;
  for await (const { key, modified } of listed())
    if (namedBy(prefix, key) !== undefined) newestMs = Math.max(newestMs, modified.getTime());
  const beforeMs = Math.min(nowMs, newestMs) - keepForMs;
  let deleted = 0;
  const remove = async (key: string) => {
    await store.delete(key, { signal });
    deleted += 1;
  };
  const first = new Map<string, string>();
  const left = new Set<string>();
  for await (const { key, modified } of listed()) {
    const named = namedBy(prefix, key);
    if (named === undefined) continue;
    const folder = folderOf(prefix, named);
    const isFirst = named.kind === "changes" && named.first === 0n;
    if (key === last || modified.getTime() >= beforeMs) left.add(folder);
    else if (isFirst) first.set(folder, key);
    else await remove(key);
  }
  for (const [folder, key] of first) if (!left.has(folder)) await remove(key);
  return deleted;
}
