import type { ObjectStore } from "#objectstore/store.ts";
import { folderOf, namedBy } from "./layout.ts";

/** How often what is too old is looked for, in milliseconds. */
export const PRUNE_EVERY_MS = 60 * 60_000;

/** Of which etcd, and where. */
export interface PrunePlace {
  readonly prefix: string;
  readonly clusterID: string;
  /** The last object, at which an archiver goes on. */
  readonly last: string;
}

/** How old something may get, in milliseconds, by this node's clock. */
export interface Age {
  readonly nowMs: number;
  readonly keepForMs: number;
}

/**
 * Deletes what was stored of an etcd and is too old, except for the last object, and for the first one of each history of which something is left: it says
 * since when that went on, and so which history a backup is of. Ages are counted back from what was stored last, like those of a schedule's backups: for a
 * clock that is days ahead nothing goes, and it is too little rather than too much. Whoever is stopped half-way leaves holes in what is too old anyway.
 * @returns how many
 */
export async function prune(
  store: Pick<ObjectStore, "list" | "delete">,
  { prefix, clusterID, last }: PrunePlace,
  { nowMs, keepForMs }: Age,
  signal: AbortSignal,
): Promise<number> {
  const listed = () => store.list(`${prefix}/${clusterID}-`, { signal });
  // It is listed twice rather than kept in mind: of a week there are tens of thousands.
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
