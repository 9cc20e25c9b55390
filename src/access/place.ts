import { pausedBy } from "#api/pause.ts";
import { isToSleep } from "#api/sleep.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** Why the EtcdCluster's own state rules out changes in its etcd. */
export interface Hindrance {
  readonly reason: "ClusterNotFound" | "ClusterNotReady" | "Paused";
  readonly because: string;
}

/** @param name of the EtcdCluster @param cluster `undefined` when there is none of this name */
export function hindranceOf(name: string, cluster: EtcdCluster | undefined): Hindrance | undefined {
  if (cluster === undefined) return { reason: "ClusterNotFound", because: `EtcdCluster ${name} does not exist` };
  const notReady = (because: string): Hindrance => ({
    reason: "ClusterNotReady",
    because: `EtcdCluster ${name} ${because}`,
  });
  if (isGoing(cluster)) return notReady("is being deleted");
  if (!hasFormed(cluster)) return notReady("has not formed yet");
  if (isToSleep(cluster)) return notReady("sleeps or is about to sleep: spec.replicas is 0");
  const paused = pausedBy(cluster);
  return paused === undefined ? undefined : { reason: "Paused", because: `EtcdCluster ${name} is paused: ${paused}` };
}

/**
 * Whether only expiring certificates are renewed, because the formed cluster is paused or asleep. etcd is not queried
 * then.
 */
export function onlyRenews(cluster: EtcdCluster | undefined): cluster is EtcdCluster {
  if (cluster === undefined || isGoing(cluster) || !hasFormed(cluster)) return false;
  return isToSleep(cluster) || pausedBy(cluster) !== undefined;
}

function isGoing({ metadata }: Pick<EtcdCluster, "metadata">): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Whether the cluster has an etcd that can answer. */
function hasFormed({ status }: Pick<EtcdCluster, "status">): boolean {
  return status?.identity !== undefined && status.members?.some(({ role }) => role !== "Learner") === true;
}

/** The cluster ID in hexadecimal; "" before it is known. */
export function clusterIdOf(cluster: Pick<EtcdCluster, "status"> | undefined): string {
  return cluster?.status?.identity?.clusterID ?? "";
}

/** Whether cleanup in etcd is pointless, because the cluster does not exist or is being deleted. */
export function isGone(cluster: EtcdCluster | undefined): boolean {
  return cluster === undefined || isGoing(cluster);
}
