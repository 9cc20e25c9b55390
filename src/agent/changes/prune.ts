import type { ObjectStore } from "#objectstore/store.ts";
import { folderOf, namedBy } from "./layout.ts";

/** How often what is too old is looked for, in milliseconds. */
export const PRUNE_EVERY_MS = 60 * 60_000;

/**
 * Deletes what was stored of an etcd before a time, except for the last object, at which an archiver goes on, and for the first one of each history of which
 * something is left: it says since when that went on, and so which history a backup is of. Whoever is stopped half-way leaves holes in what is too
 * old anyway.
 */
export async function prune(
  store: Pick<ObjectStore, "list" | "delete">,
  prefix: string,
  clusterID: string,
  last: string,
  beforeMs: number,
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  const remove = async (key: string) => {
    await store.delete(key, { signal });
    deleted += 1;
  };
  const first = new Map<string, string>();
  const left = new Set<string>();
  for await (const { key, modified } of store.list(`${prefix}/${clusterID}-`, { signal })) {
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
