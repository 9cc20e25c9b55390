import { podMonitor } from "#cluster/exposure/desired/pod-monitor.ts";
import type { ClusterSnapshot, SeenMonitor } from "#cluster/snapshot.ts";
import type { PodMonitor } from "#kube/kinds.ts";
import { born, cluster } from "./cluster.ts";

// Snapshots of clusters (cluster.ts) that ask for a PodMonitor.

/** A settled cluster with a new wish for a PodMonitor. */
export const asking = cluster({ spec: { monitoring: { podMonitor: { enabled: true } } } });
export const MONITOR: PodMonitor = born(podMonitor(asking));

/** The snapshot with this reason of the condition Monitored in its status. */
export function withMonitored(snapshot: ClusterSnapshot, reason: string): ClusterSnapshot {
  const told = { type: "Monitored", status: "False", reason, message: "", observedGeneration: 1 } as const;
  const conditions = [{ ...told, lastTransitionTime: "2026-01-01T11:00:00Z" }];
  return { ...snapshot, cluster: { ...snapshot.cluster, status: { ...snapshot.cluster.status, conditions } } };
}

/** Such a cluster with this reason in its status, and this PodMonitor observed. */
export function monitoring(seen: SeenMonitor | undefined, wish = { podMonitor: { enabled: true } }): ClusterSnapshot {
  const snapshot = withMonitored(cluster({ spec: { monitoring: wish } }), "Waiting");
  return { ...snapshot, podMonitor: seen };
}
