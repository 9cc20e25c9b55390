import { readdirSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Folder for expensive results that depend only on the sources. It is outside the work tree, so that clones and clean
 * checkouts share it. It may be deleted while nothing runs.
 */
export function cacheRoot(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "etcd-cluster-operator");
}

/**
 * Removes old files of one kind, when their names change with every change of the sources.
 * @param prefix start of the names of this kind
 * @param keep how many of the newest files are kept
 */
export function keepNewest(folder: string, prefix: string, keep: number): void {
  const files = readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => ({ path: join(folder, name), writtenMs: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.writtenMs - a.writtenMs);
  for (const { path } of files.slice(keep)) rmSync(path, { force: true });
}
