import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** Whether the spec asks for a PodMonitor. */
export function isMonitorWanted({ spec }: Pick<EtcdCluster, "spec">): boolean {
  return spec.monitoring?.podMonitor?.enabled === true;
}

/** Whether a PodMonitor may exist: the condition is recorded before it is created, and until it is deleted. */
export function isMonitorOnRecord({ status }: Pick<EtcdCluster, "status">): boolean {
  const recorded = status?.conditions?.find(({ type }) => type === "Monitored");
  return recorded !== undefined && recorded.reason !== "NotMonitored";
}
