import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "../cache.ts";
import { Failure } from "../failure.ts";
import { holderOf } from "../lock.ts";
import type { Step } from "../progress.ts";

/**
 * Removes the cache of everything that was built.
 * @param users state folders of the instances that are up on this machine
 * @returns false when there is no cache
 * @throws Failure while an instance or a build uses it
 */
export async function removeCaches(users: readonly string[], step: Step): Promise<boolean> {
  const root = cacheRoot();
  if (!existsSync(root)) return false;
  if (users.length > 0)
    throw new Failure(
      `--caches: ${root} is in use by the local Kubernetes in ${users.join(", ")}. Take it down first.`,
    );
  const builders = readdirSync(root)
    .filter((name) => name.endsWith(".lock"))
    .flatMap((name) => holderOf(join(root, name)) ?? []);
  if (builders.length > 0)
    throw new Failure(
      `--caches: process ${builders.map(({ pid }) => pid).join(", ")} is building in ${root}. Wait for it.`,
    );
  await step("caches removed", (note) => {
    note(root);
    rmSync(root, { recursive: true });
    return Promise.resolve();
  });
  return true;
}
