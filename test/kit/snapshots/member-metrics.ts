// The answer of a member's metrics port, with the metrics that the plugin reads, in the form of etcd 3.6.

/** Observations by the bound of their bucket, such as `{ 4: 100 }` for a hundred of 2 to 4 ms. */
type Observations = Readonly<Record<number, number>>;

export interface MemberMetrics {
  readonly id: string;
  readonly startMs: number;
  /** Keys are milliseconds; buckets are doubled from 1 ms, and `9000` is beyond the last one. */
  readonly sync: Observations;
  readonly commit: Observations;
  /** Keys are IDs of peers; buckets are doubled from 0.1 ms. */
  readonly trips: Readonly<Record<string, Observations>>;
  readonly leaderChanges: number;
  readonly failedProposals: number;
  readonly slowApplies: number;
}

export function metricsText(given: MemberMetrics): string {
  const { id, startMs, sync, commit, trips, leaderChanges, failedProposals, slowApplies } = given;
  return `${[
    "# HELP etcd_disk_backend_commit_duration_seconds The latency distributions of commit called by backend.",
    "# TYPE etcd_disk_backend_commit_duration_seconds histogram",
    ...histogram("etcd_disk_backend_commit_duration_seconds", 1, 14, commit),
    ...histogram("etcd_disk_wal_fsync_duration_seconds", 1, 14, sync),
    ...Object.entries(trips).flatMap(([to, observed]) =>
      histogram("etcd_network_peer_round_trip_time_seconds", 0.1, 16, observed, `To="${to}",`),
    ),
    `etcd_server_id{server_id="${id}"} 1`,
    "# TYPE etcd_server_leader_changes_seen_total counter",
    `etcd_server_leader_changes_seen_total ${leaderChanges}`,
    `etcd_server_proposals_failed_total ${failedProposals}`,
    `etcd_server_slow_apply_total ${slowApplies}`,
    `process_start_time_seconds ${(startMs / 1_000).toExponential()}`,
  ].join("\n")}\n`;
}

function histogram(name: string, firstMs: number, count: number, observed: Observations, labels = ""): string[] {
  const bounds = Array.from({ length: count }, (_, n) => firstMs * 2 ** n);
  const upTo = (most: number) =>
    Object.entries(observed).reduce((sum, [ms, number]) => sum + (Number(ms) <= most ? number : 0), 0);
  const lines = bounds.map((ms) => `${name}_bucket{${labels}le="${ms / 1_000}"} ${upTo(ms)}`);
  const all = upTo(Number.POSITIVE_INFINITY);
  return [...lines, `${name}_bucket{${labels}le="+Inf"} ${all}`, `${name}_sum 1`, `${name}_count ${all}`];
}
