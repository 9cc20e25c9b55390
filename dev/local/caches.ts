import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "../cache.ts";
import { Failure } from "../failure.ts";
import { holderOf } from "../lock.ts";
import type { Step } from "../progress.ts";

/**
 * Removes everything that was built and kept for the next time.
 * @param users state folders of the instances that are up on this machine
 * @returns false when there was nothing
 * @throws Failure while somebody uses it
 */
export async function removeCaches(users: readonly string[], step: Step): Promise<boolean> {
  const root = cacheRoot();
  if (!existsSync(root)) return false;
  if (users.length > 0)
    throw new Failure(`--caches: ${root} is in use by the local Kubernetes in ${users.join(", ")}; take it down first`);
  const builders = readdirSync(root)
    .filter((name) => name.endsWith(".lock"))
    .flatMap((name) => holderOf(join(root, name)) ?? []);
  if (builders.length > 0)
    throw new Failure(
      `--caches: process ${builders.map(({ pid }) => pid).join(", ")} is building in ${root}; wait for it`,
    );
  await step("caches removed", (note) => {
    note(root);
    rmSync(root, { recursive: true });
    return Promise.resolve();
  });
  return true;
}
