import { lackOfPlace } from "#restore/place.ts";
import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval while a foreign Job has the name, in milliseconds. */
const RECHECK_MS = 10_000;

/** Waits while the name is not free. A cluster or a claim has already failed the restore; a Job may be deleted. */
export const awaitPlace: RestoreRule = {
  name: "await-place",
  decide(snapshot) {
    const lack = isComplete(snapshot) ? undefined : lackOfPlace(snapshot);
    return lack === undefined ? undefined : wait("await-place", lack.message, RECHECK_MS, { warn: true });
  },
};
