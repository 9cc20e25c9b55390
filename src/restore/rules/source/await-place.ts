import { lackOfPlace } from "#restore/place.ts";
import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { wait } from "#runtime/decide.ts";

/** For whoever has the name of a Job, in milliseconds. */
const RECHECK_MS = 10_000;

/** Nothing is made where somebody is in the way. A cluster or a claim has failed the restore by now; a Job may go by itself. */
export const awaitPlace: RestoreRule = {
  name: "await-place",
  decide(snapshot) {
    const lack = isComplete(snapshot) ? undefined : lackOfPlace(snapshot);
    return lack === undefined ? undefined : wait("await-place", lack.message, RECHECK_MS, { warn: true });
  },
};
