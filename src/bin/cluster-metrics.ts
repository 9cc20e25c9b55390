import { Gauge, type Registry } from "prom-client";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

const LABELS = ["namespace", "name"] as const;

/**
 * Registers metrics of quarantined claims, from the status of each EtcdCluster. Clusters without such claims have no
 * series.
 */
export function clusterMetrics(registry: Registry, clusters: () => readonly EtcdCluster[]): void {
  const gauge = (name: string, help: string, read: (status: EtcdCluster["status"]) => number | undefined): void => {
    const made: Gauge<(typeof LABELS)[number]> = new Gauge({
      name,
      help,
      labelNames: LABELS,
      registers: [registry],
      collect: () => {
        made.reset(); // Removes the series of deleted clusters.
        for (const { metadata, status } of clusters()) {
          const value = read(status);
          if (value !== undefined) made.set({ namespace: metadata.namespace, name: metadata.name }, value);
        }
      },
    });
  };
  gauge(
    "etcd_operator_quarantined_claims",
    "Claims of members that have left the cluster, kept until a user deletes them. The operator does not use them again.",
    (status) => status?.quarantinedClaims?.count,
  );
  gauge(
    "etcd_operator_quarantined_claims_oldest_timestamp_seconds",
    "When the oldest quarantined claim of the cluster was quarantined, since 1970.",
    (status) => {
      const at = status?.quarantinedClaims?.oldestTime;
      return at === undefined ? undefined : Date.parse(at) / 1_000;
    },
  );
}
