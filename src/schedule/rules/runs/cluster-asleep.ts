import { rfc3339 } from "#base/timestamp.ts";
import { wait } from "#runtime/decide.ts";
import { runsOf } from "#schedule/runs.ts";
import { isClusterAsleep } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/**
 * Recheck interval while the cluster sleeps, in milliseconds. Its wake-up has no event here, and takes a while anyway.
 */
const RECHECK_MS = 10_000;

/**
 * Waits with a run while the cluster sleeps (spec.replicas is 0). When several are due by then, only the latest is
 * made.
 */
export const clusterAsleep: ScheduleRule = {
  name: "cluster-asleep",
  decide(snapshot) {
    const { heldMs } = runsOf(snapshot);
    if (heldMs === undefined || !isClusterAsleep(snapshot)) return undefined;
    const because = `EtcdCluster ${snapshot.cluster?.metadata.name} sleeps; the backup that was due at ${rfc3339(heldMs)} waits until it is woken`;
    return wait("cluster-asleep", because, RECHECK_MS);
  },
};
