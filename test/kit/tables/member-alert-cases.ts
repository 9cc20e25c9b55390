import { type AlertCase, buckets, FIRST, member, OF_MEMBERS, type Series, three } from "./alert-series.ts";

const requests = (failed: number, answered: number): Series[] => {
  const of = (code: string) => `,grpc_service="etcdserverpb.KV",grpc_method="Put",grpc_code="${code}"`;
  return [
    member("grpc_server_handled_total", `0+${failed}x60`, of("Unavailable")),
    member("grpc_server_handled_total", `0+${answered}x60`, of("OK")),
  ];
};
const REQUESTS = { alert: "EtcdHighNumberOfFailedGRPCRequests", labels: `${OF_MEMBERS},grpc_service="etcdserverpb.KV",grpc_method="Put"` }; // biome-ignore format: one line
const SYNC = "etcd_disk_wal_fsync_duration_seconds";
const COMMIT = "etcd_disk_backend_commit_duration_seconds";
const ROUND_TRIP = "etcd_network_peer_round_trip_time_seconds";
const HANDLING = "grpc_server_handling_seconds";
const unary = (method: string) => `,grpc_type="unary",grpc_method="${method}"`;
const MEBI = 1024 ** 2;

export const MEMBER_ALERT_CASES: readonly AlertCase[] = [
  {
    alert: "EtcdMembersDown",
    labels: OF_MEMBERS,
    fires: three("up", "1x60", "1x60", "0x60"),
    quiet: [...three("up", "1x60", "1x60", "1x40 0x19"), ['up{job="other"}', "0x60"]],
  },
  {
    alert: "EtcdInsufficientMembers",
    labels: OF_MEMBERS,
    fires: three("up", "1x60", "0x60", "0x60"),
    quiet: three("up", "1x60", "1x60", "0x60"),
  },
  {
    alert: "EtcdNoLeader",
    labels: FIRST,
    fires: [member("etcd_server_has_leader", "0x60")],
    quiet: [member("etcd_server_has_leader", "0x58 1x1")],
  },
  {
    alert: "EtcdHighNumberOfLeaderChanges",
    labels: OF_MEMBERS,
    fires: [member("etcd_server_leader_changes_seen_total", "1x45 2+1x14")],
    quiet: [member("etcd_server_leader_changes_seen_total", "1x45 2x4 3x10")],
  },
  { ...REQUESTS, severity: "warning", fires: requests(3, 97), quiet: requests(1, 199) },
  { ...REQUESTS, severity: "critical", fires: requests(10, 90), quiet: requests(3, 97), alsoQuiet: [requests(1, 4)] },
  {
    alert: "EtcdGRPCRequestsSlow",
    labels: `${OF_MEMBERS},grpc_method="Put"`,
    fires: buckets(HANDLING, "0.1", "0.4", unary("Put")),
    quiet: [...buckets(HANDLING, "0.05", "0.1", unary("Put")), ...buckets(HANDLING, "1", "4", unary("Defragment"))],
  },
  {
    alert: "EtcdMemberCommunicationSlow",
    labels: FIRST,
    fires: buckets(ROUND_TRIP, "0.1", "0.2"),
    quiet: buckets(ROUND_TRIP, "0.05", "0.1"),
  },
  {
    alert: "EtcdHighNumberOfFailedProposals",
    labels: OF_MEMBERS,
    fires: [member("etcd_server_proposals_failed_total", "0+600x60")],
    quiet: [member("etcd_server_proposals_failed_total", "0+240x60")],
  },
  {
    alert: "EtcdHighFsyncDurations",
    severity: "warning",
    labels: FIRST,
    fires: buckets(SYNC, "0.5", "1"),
    quiet: buckets(SYNC, "0.1", "0.4"),
  },
  {
    alert: "EtcdHighFsyncDurations",
    severity: "critical",
    labels: FIRST,
    fires: buckets(SYNC, "1", "2"),
    quiet: buckets(SYNC, "0.5", "1"),
  },
  {
    alert: "EtcdHighCommitDurations",
    labels: FIRST,
    fires: buckets(COMMIT, "0.2", "0.5"),
    quiet: buckets(COMMIT, "0.1", "0.2"),
  },
  {
    alert: "EtcdDatabaseQuotaLowSpace",
    labels: FIRST,
    fires: [member("etcd_mvcc_db_total_size_in_bytes", "96x60"), member("etcd_server_quota_backend_bytes", "100x60")],
    quiet: [member("etcd_mvcc_db_total_size_in_bytes", "95x60"), member("etcd_server_quota_backend_bytes", "100x60")],
  },
  {
    alert: "EtcdExcessiveDatabaseGrowth",
    labels: FIRST,
    fires: [
      member("etcd_mvcc_db_total_size_in_bytes", "100+10x60"),
      member("etcd_server_quota_backend_bytes", "2000x60"),
    ],
    quiet: [
      member("etcd_mvcc_db_total_size_in_bytes", "100+1x60"),
      member("etcd_server_quota_backend_bytes", "2000x60"),
    ],
  },
  {
    alert: "EtcdDatabaseHighFragmentationRatio",
    labels: FIRST,
    fires: [
      member("etcd_mvcc_db_total_size_in_use_in_bytes", `${110 * MEBI}x60`),
      member("etcd_mvcc_db_total_size_in_bytes", `${250 * MEBI}x60`),
    ],
    quiet: [
      member("etcd_mvcc_db_total_size_in_use_in_bytes", `${90 * MEBI}x60`),
      member("etcd_mvcc_db_total_size_in_bytes", `${250 * MEBI}x60`),
    ],
  },
];
