import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Where things that are costly to make and depend only on the sources live: outside the work tree, so that clones and
 * clean checkouts share them. Safe to delete while nothing runs.
 */
export function cacheRoot(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "etcd-cluster-operator");
}
