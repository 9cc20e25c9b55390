import { type Alert, BY_CLUSTER, BY_MEMBER, CLUSTER, MEMBERS, OF_MEMBER, OF_MEMBERS } from "./alert.ts";

// Alerts from members' own metrics, with the conditions and bounds of etcd's mixin
// (https://github.com/etcd-io/etcd/tree/main/contrib/mixin). The labels are those that a PodMonitor of an EtcdCluster
// gives, so that no other etcd is included.

const FAILURES = "Unknown|FailedPrecondition|ResourceExhausted|Internal|Unavailable|DataLoss|DeadlineExceeded";
const handled = (more: string) =>
  `sum by (namespace, ${CLUSTER}, grpc_service, grpc_method) (rate(grpc_server_handled_total{${MEMBERS}${more}}[5m]))`;
const failed = handled(`, grpc_code=~"${FAILURES}"`);
const failedPercent = `100 * ${failed} / ${handled("")}`;

/** The 99th percentile of a histogram of each member, over five minutes, in seconds. */
function p99(metric: string, more = "", by = BY_MEMBER): string {
  const grouped = by.replace("(", "(le, ");
  return `histogram_quantile(0.99, sum ${grouped} (rate(${metric}_bucket{${MEMBERS}${more}}[5m])))`;
}

/** @param atLeast failed requests each second: of a few requests some may always fail */
function failedRequests(severity: Alert["severity"], percent: number, minutes: string, atLeast = 0): Alert {
  return {
    name: "EtcdHighNumberOfFailedGRPCRequests",
    severity,
    for: minutes,
    expr: `${failedPercent} > ${percent}${atLeast > 0 ? ` and ${failed} > ${atLeast}` : ""}`,
    summary: "Members refuse or fail many requests.",
    description: `${OF_MEMBERS}: {{ $value | printf "%.1f" }} % of the requests {{ $labels.grpc_method }} fail.`,
  };
}

function slowSync(severity: Alert["severity"], seconds: number): Alert {
  return {
    name: "EtcdHighFsyncDurations",
    severity,
    for: "10m",
    expr: `${p99("etcd_disk_wal_fsync_duration_seconds")} > ${seconds}`,
    summary: "The disk of a member is slow to make writes durable.",
    description: `${OF_MEMBER}: the 99th percentile of fsync is {{ $value | humanizeDuration }}.`,
  };
}

export const MEMBER_ALERTS: readonly Alert[] = [
  {
    name: "EtcdMembersDown",
    severity: "critical",
    for: "20m",
    expr: `sum ${BY_CLUSTER} (up{${MEMBERS}} == bool 0) > 0`,
    summary: "Members do not answer on their metrics port.",
    description: `${OF_MEMBERS}: {{ $value }} members do not answer.`,
  },
  {
    name: "EtcdInsufficientMembers",
    severity: "critical",
    for: "3m",
    expr: `sum ${BY_CLUSTER} (up{${MEMBERS}} == bool 1) < (count ${BY_CLUSTER} (up{${MEMBERS}}) + 1) / 2`,
    summary: "Fewer members answer than a quorum needs.",
    description: `${OF_MEMBERS}: only {{ $value }} members answer on their metrics port.`,
  },
  {
    name: "EtcdNoLeader",
    severity: "critical",
    for: "1m",
    expr: `min ${BY_MEMBER} (etcd_server_has_leader{${MEMBERS}}) == 0`,
    summary: "A member has no leader.",
    description: `${OF_MEMBER} has no leader: it serves no linearizable read and no write.`,
  },
  {
    name: "EtcdHighNumberOfLeaderChanges",
    severity: "warning",
    for: "5m",
    expr: `max ${BY_CLUSTER} (increase(etcd_server_leader_changes_seen_total{${MEMBERS}}[15m])) >= 4`,
    summary: "The leader changes often.",
    description: `${OF_MEMBERS}: the leader changed {{ $value | printf "%.0f" }} times within 15 minutes.`,
  },
  failedRequests("warning", 1, "10m"),
  failedRequests("critical", 5, "5m", 0.1),
  {
    name: "EtcdGRPCRequestsSlow",
    severity: "critical",
    for: "10m",
    expr: `${p99("grpc_server_handling_seconds", ', grpc_method!="Defragment", grpc_type="unary"', `by (namespace, ${CLUSTER}, grpc_method)`)} > 0.15`,
    summary: "Requests to members are slow.",
    description: `${OF_MEMBERS}: the 99th percentile of {{ $labels.grpc_method }} is {{ $value | humanizeDuration }}.`,
  },
  {
    name: "EtcdMemberCommunicationSlow",
    severity: "warning",
    for: "10m",
    expr: `${p99("etcd_network_peer_round_trip_time_seconds")} > 0.15`,
    summary: "The network between members is slow.",
    description: `${OF_MEMBER}: the 99th percentile of the round trip to others is {{ $value | humanizeDuration }}.`,
  },
  {
    name: "EtcdHighNumberOfFailedProposals",
    severity: "warning",
    for: "15m",
    expr: `max ${BY_CLUSTER} (rate(etcd_server_proposals_failed_total{${MEMBERS}}[15m])) > 5`,
    summary: "Many writes are not accepted.",
    description: `${OF_MEMBERS}: {{ $value | printf "%.1f" }} proposals fail each second.`,
  },
  slowSync("warning", 0.5),
  slowSync("critical", 1),
  {
    name: "EtcdHighCommitDurations",
    severity: "warning",
    for: "10m",
    expr: `${p99("etcd_disk_backend_commit_duration_seconds")} > 0.25`,
    summary: "The disk of a member is slow to commit its database.",
    description: `${OF_MEMBER}: the 99th percentile of a commit is {{ $value | humanizeDuration }}.`,
  },
  {
    name: "EtcdDatabaseQuotaLowSpace",
    severity: "critical",
    for: "10m",
    expr: `max ${BY_MEMBER} (etcd_mvcc_db_total_size_in_bytes{${MEMBERS}} / etcd_server_quota_backend_bytes{${MEMBERS}}) * 100 > 95`,
    summary: "A database has nearly reached its quota.",
    description: `${OF_MEMBER}: the database has {{ $value | printf "%.0f" }} % of its quota. At the quota etcd refuses writes.`,
  },
  {
    name: "EtcdExcessiveDatabaseGrowth",
    severity: "warning",
    for: "10m",
    expr: `max ${BY_MEMBER} (predict_linear(etcd_mvcc_db_total_size_in_bytes{${MEMBERS}}[4h], 4 * 3600) > etcd_server_quota_backend_bytes{${MEMBERS}})`,
    summary: "A database will reach its quota within four hours.",
    description: `${OF_MEMBER}: at the present rate the database reaches its quota within four hours.`,
  },
  {
    name: "EtcdDatabaseHighFragmentationRatio",
    severity: "warning",
    for: "10m",
    expr: `max ${BY_MEMBER} (etcd_mvcc_db_total_size_in_use_in_bytes{${MEMBERS}} / etcd_mvcc_db_total_size_in_bytes{${MEMBERS}} < 0.5 and etcd_mvcc_db_total_size_in_use_in_bytes{${MEMBERS}} > 104857600)`,
    summary: "More than half of a database file is free space.",
    description: `${OF_MEMBER}: only {{ $value | humanizePercentage }} of the database file is in use.`,
  },
];
