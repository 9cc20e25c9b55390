import { rfc3339 } from "#base/timestamp.ts";
import { wait } from "#runtime/decide.ts";
import { runsOf } from "#schedule/runs.ts";
import { isClusterAsleep } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** So soon after its cluster was woken the run is made, in milliseconds: it wakes nobody here, and takes its time itself. */
const RECHECK_MS = 10_000;

/** A run waits while nobody is there who could be read: spec.replicas of the EtcdCluster is 0. If several are due by then, the latest is made. */
export const clusterAsleep: ScheduleRule = {
  name: "cluster-asleep",
  decide(snapshot) {
    const { heldMs } = runsOf(snapshot);
    if (heldMs === undefined || !isClusterAsleep(snapshot)) return undefined;
    const because = `EtcdCluster ${snapshot.cluster?.metadata.name} sleeps, and the backup that was due at ${rfc3339(heldMs)} waits until it is woken`;
    return wait("cluster-asleep", because, RECHECK_MS);
  },
};
