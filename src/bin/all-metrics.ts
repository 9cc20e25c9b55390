import { createMetrics } from "#runtime/metrics.ts";
import { backupMetrics } from "./backup-metrics.ts";
import { certificateMetrics } from "./certificate-metrics.ts";
import { clusterMetrics } from "./cluster-metrics.ts";
import { healthMetrics } from "./health-metrics.ts";
import type { Lead } from "./lead.ts";
import { managedClusters } from "./managed.ts";
import { scheduleMetrics } from "./schedule-metrics.ts";
import { exportStatistics, requestTimes } from "./statistics.ts";

/**
 * Registers every metric of the operator. docs/reference/metrics.md is generated from this list.
 * @param isSharded whether several shards are led, each with a metric of its own
 * @param lead undefined while the process starts
 */
export function allMetrics(isSharded: boolean, lead: () => Lead | undefined) {
  const metrics = createMetrics();
  const { registry } = metrics;
  const times = requestTimes(registry);
  const worlds = () => lead()?.worlds ?? [];
  // Each shard's caches have all backups and schedules, but only its own clusters. Before they are synced no value is
  // exported, because 0 would mean that no backup exists.
  const known = () => worlds().find(({ caches }) => caches.backups.synced && caches.schedules.synced)?.caches;
  const onBackupEnd = backupMetrics(registry, () => known()?.backups.list());
  scheduleMetrics(registry, () => known()?.schedules.list() ?? []);
  // "known" includes objects that are too large: their metadata and status are kept, and their certificates expire,
  // too.
  const clusters = () => worlds().flatMap(({ caches }) => caches.clusters.list("known"));
  clusterMetrics(registry, clusters);
  healthMetrics(registry, () => managedClusters(worlds()));
  certificateMetrics(registry, clusters, () => worlds().flatMap(({ caches }) => caches.users.list("known")));
  exportStatistics(metrics, isSharded, lead);
  return { metrics, times, onBackupEnd };
}
