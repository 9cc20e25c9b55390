import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Its events tell when it is Ready; this is for the question at which revision it is, in milliseconds. */
const RECHECK_MS = 2_000;

/** The EtcdCluster is waited for until it is Ready, and can be read at the revision with which its members start. */
export const awaitCluster: RestoreRule = {
  name: "await-cluster",
  decide(snapshot) {
    return wait("await-cluster", verdictOf(snapshot).message, RECHECK_MS);
  },
};
