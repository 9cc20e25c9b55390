import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval for the cluster's revision, in milliseconds; Ready has events of its own. */
const RECHECK_MS = 2_000;

/** Waits until the EtcdCluster is Ready and serves at least the revision with which its members start. */
export const awaitCluster: RestoreRule = {
  name: "await-cluster",
  decide(snapshot) {
    return wait("await-cluster", verdictOf(snapshot).message, RECHECK_MS);
  },
};
