import { pausedBy } from "#api/pause.ts";
import { isToSleep } from "#api/sleep.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** Why nothing can be done in the etcd of an object, by its EtcdCluster alone. */
export interface Hindrance {
  readonly reason: "ClusterNotFound" | "ClusterNotReady" | "Paused";
  readonly because: string;
}

/** @param name of the EtcdCluster @param cluster `undefined` when there is none of this name */
export function hindranceOf(name: string, cluster: EtcdCluster | undefined): Hindrance | undefined {
  if (cluster === undefined) return { reason: "ClusterNotFound", because: `there is no EtcdCluster ${name}` };
  const notReady = (because: string): Hindrance => ({
    reason: "ClusterNotReady",
    because: `EtcdCluster ${name} ${because}`,
  });
  if (isGoing(cluster)) return notReady("is being deleted");
  if (!hasFormed(cluster)) return notReady("has not formed yet");
  if (isToSleep(cluster)) return notReady("sleeps, or is about to: spec.replicas is 0");
  const paused = pausedBy(cluster);
  return paused === undefined ? undefined : { reason: "Paused", because: `EtcdCluster ${name} is paused: ${paused}` };
}

function isGoing({ metadata }: Pick<EtcdCluster, "metadata">): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Whether there is an etcd that could be asked. */
function hasFormed({ status }: Pick<EtcdCluster, "status">): boolean {
  return status?.identity !== undefined && status.members?.some(({ learner }) => !learner) === true;
}

/** Which etcd it is, in hexadecimal; "" while there is none. */
export function clusterIdOf(cluster: Pick<EtcdCluster, "status"> | undefined): string {
  return cluster?.status?.identity?.clusterID ?? "";
}

/** Whether nobody needs to take anything back in etcd: it is gone with the cluster, or about to be. */
export function isGone(cluster: EtcdCluster | undefined): boolean {
  return cluster === undefined || isGoing(cluster);
}
