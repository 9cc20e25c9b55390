import type { ObjectStore } from "#objectstore/store.ts";
import { namedBy } from "./layout.ts";

/** How often what is too old is looked for, in milliseconds. */
export const PRUNE_EVERY_MS = 60 * 60_000;

/**
 * Deletes what was stored before a time, except for the last object, at which an archiver goes on. Whoever is stopped half-way leaves holes in
 * what is too old anyway.
 */
export async function prune(
  store: Pick<ObjectStore, "list" | "delete">,
  prefix: string,
  last: string,
  beforeMs: number,
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  for await (const { key, modified } of store.list(`${prefix}/`, { signal })) {
    if (namedBy(prefix, key) === undefined || key === last || modified.getTime() >= beforeMs) continue;
    await store.delete(key, { signal });
    deleted += 1;
  }
  return deleted;
}
