import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** Whether people ask for a PodMonitor. */
export function isMonitorWanted({ spec }: Pick<EtcdCluster, "spec">): boolean {
  return spec.monitoring.podMonitor;
}

/** Whether one may be there: that somebody asked for it is on record before it is made, and until it is gone. */
export function isMonitorOnRecord({ status }: Pick<EtcdCluster, "status">): boolean {
  const told = status?.conditions?.find(({ type }) => type === "Monitored");
  return told !== undefined && told.reason !== "NotMonitored";
}
