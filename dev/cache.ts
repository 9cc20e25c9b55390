import { readdirSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Where things that are costly to make and depend only on the sources live: outside the work tree, so that clones and
 * clean checkouts share them. Safe to delete while nothing runs.
 */
export function cacheRoot(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "etcd-cluster-operator");
}

/**
 * Removes old files of one kind, for those whose name changes with every change of the sources.
 * @param prefix what the names of the kind begin with
 * @param keep how many of the newest stay
 */
export function keepNewest(folder: string, prefix: string, keep: number): void {
  const files = readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => ({ path: join(folder, name), writtenMs: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.writtenMs - a.writtenMs);
  for (const { path } of files.slice(keep)) rmSync(path, { force: true });
}
