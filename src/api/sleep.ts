import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** Whether people want no member to run: the cluster is to sleep, or to stay asleep. */
export function isToSleep({ spec }: Pick<EtcdCluster, "spec">): boolean {
  return spec.replicas === 0;
}

/** Whether members are to be stopped, or to stay so: people want it, and that nothing stands against it is on record. */
export function isAsleep(cluster: Pick<EtcdCluster, "spec" | "status">): boolean {
  const sleep = cluster.status?.sleep;
  return isToSleep(cluster) && sleep !== undefined && sleep.wokenAt === undefined;
}
