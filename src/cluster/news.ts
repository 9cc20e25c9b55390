import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";

/** What changes on the way and is told anew with every look. All else in a status is on record for later looks, or somebody waits for it. */
const PASSING = [
  "observedGeneration",
  "replicas",
  "readyReplicas",
  "ready",
  "leader",
  "version",
  "clusterVersion",
  "members",
  "conditions",
] as const satisfies readonly (keyof EtcdClusterStatus)[];

/** Whether only words and counts differ: every condition is as true as it was, and members are the same. */
export function isInPassing(before: EtcdClusterStatus, after: EtcdClusterStatus): boolean {
  return isSameData(essence(before), essence(after));
}

function essence(status: EtcdClusterStatus): object {
  const rest = Object.entries(status).filter(([key]) => !PASSING.some((passing) => passing === key));
  return {
    rest: Object.fromEntries(rest),
    members: status.members?.map(({ name, id, learner }) => ({ name, id, learner })) ?? [],
    conditions: Object.fromEntries(status.conditions?.map(({ type, status: is }) => [type, is]) ?? []),
  };
}
