import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** Whether `spec.replicas` is 0: the cluster is to go to sleep, or to stay asleep. */
export function isToSleep({ spec }: Pick<EtcdCluster, "spec">): boolean {
  return spec.replicas === 0;
}

/**
 * Whether members are to be stopped or stay stopped: the spec asks for it, and the status records that nothing prevents
 * it.
 */
export function isAsleep(cluster: Pick<EtcdCluster, "spec" | "status">): boolean {
  const sleep = cluster.status?.sleep;
  return isToSleep(cluster) && sleep !== undefined && sleep.wakeTime === undefined;
}
