// Series with which each alert fires and with which it stays quiet, in the notation of `promtool test rules`.
// `0+5x40` is 41 values, a minute apart, each 5 more than the one before.

/** A series, and its values. */
type Series = readonly [series: string, values: string];

export interface AlertCase {
  readonly alert: string;
  /** Severity of the alert; default: the alert has only one. */
  readonly severity?: "critical" | "warning";
  readonly fires: readonly Series[];
  /** Labels of the alert that fires, beside name and severity. */
  readonly labels: string;
  readonly quiet: readonly Series[];
  /** Minute at which both are evaluated. Default: 60. */
  readonly atMinute?: number;
}

const NAMESPACE = 'namespace="shop"';
const OF_CLUSTER = `${NAMESPACE},name="my-etcd"`;
const OF_MEMBERS = `${NAMESPACE},etcd_improbable_io_cluster_name="my-etcd"`;
const ofMember = (n: number) => `${OF_MEMBERS},etcd_improbable_io_peer_name="my-etcd-${n}"`;
const FIRST = ofMember(0);
/** Labels that Prometheus adds to each target; alerts must not depend on them. */
const target = (n: number) => `job="shop/my-etcd",pod="pod-${n}",instance="10.0.0.${n}:2381"`;
const member = (metric: string, values: string, more = "", n = 0): Series => [
  `${metric}{${ofMember(n)},${target(n)}${more}}`,
  values,
];
const replica = (metric: string, values: string, labels = OF_CLUSTER, n = 0): Series => [
  `etcd_operator_${metric}{${labels}${labels === "" ? "" : ","}pod="operator-${n}"}`,
  values,
];
const condition = (type: string, reason: string, values = "1x60") =>
  replica("cluster_abnormal_condition", values, `${OF_CLUSTER},type="${type}",status="False",reason="${reason}"`);
const three = (metric: string, ...values: readonly string[]) => values.map((each, n) => member(metric, each, "", n));
/** A histogram of which 90 of 100 observations each minute are below the bound, and the rest below the next one. */
const buckets = (metric: string, bound: string, next: string, more = ""): Series[] => [
  member(`${metric}_bucket`, "0+90x60", `,le="${bound}"${more}`),
  member(`${metric}_bucket`, "0+100x60", `,le="${next}"${more}`),
  member(`${metric}_bucket`, "0+100x60", `,le="+Inf"${more}`),
];
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
const HOUR = 3_600;

export const ALERT_CASES: readonly AlertCase[] = [
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
  { ...REQUESTS, severity: "critical", fires: requests(10, 90), quiet: requests(3, 97) },
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
  {
    alert: "EtcdClusterQuorumLost",
    labels: OF_CLUSTER,
    fires: [replica("cluster_quorum_margin", "-1x60")],
    quiet: [replica("cluster_quorum_margin", "0x60")],
  },
  {
    alert: "EtcdClusterNoQuorumMargin",
    labels: OF_CLUSTER,
    // Another replica leads after half of the time.
    fires: [
      replica("cluster_quorum_margin", "0x30"),
      replica("cluster_quorum_margin", "_x30 0x30", OF_CLUSTER, 1),
      replica("cluster_members_wanted", "3x60"),
    ],
    quiet: [replica("cluster_quorum_margin", "0x60"), replica("cluster_members_wanted", "1x60")],
  },
  {
    alert: "EtcdClusterNotReady",
    labels: OF_CLUSTER,
    // The reason changes.
    fires: [condition("Ready", "MembersUnhealthy", "1x40"), condition("Ready", "StepRefused", "_x40 1x20")],
    quiet: [condition("Ready", "MembersUnhealthy"), replica("cluster_sleeping", "1x60")],
  },
  {
    alert: "EtcdClusterDatabaseFull",
    labels: OF_CLUSTER,
    fires: [condition("Available", "NoSpaceAlarm")],
    quiet: [condition("Available", "QuorumLost")],
  },
  {
    alert: "EtcdClusterDatabaseNearQuota",
    labels: OF_CLUSTER,
    fires: [
      replica("member_database_bytes", "70x60", `${OF_CLUSTER},member="my-etcd-0"`),
      replica("member_database_bytes", "81x60", `${OF_CLUSTER},member="my-etcd-1"`),
      replica("cluster_database_quota_bytes", "100x60"),
    ],
    quiet: [
      replica("member_database_bytes", "80x60", `${OF_CLUSTER},member="my-etcd-0"`),
      replica("cluster_database_quota_bytes", "100x60"),
    ],
  },
  {
    alert: "EtcdClusterDataCorrupt",
    labels: OF_CLUSTER,
    fires: [condition("Available", "CorruptionAlarm")],
    quiet: [condition("Available", "NoSpaceAlarm")],
  },
  {
    alert: "EtcdClusterLearnerStuck",
    labels: OF_CLUSTER,
    fires: [replica("cluster_learners", "1x60")],
    quiet: [replica("cluster_learners", "1x20 _x20 1x20")],
  },
  {
    alert: "EtcdClusterUpdateStopped",
    labels: OF_CLUSTER,
    fires: [replica("cluster_update_stopped", "1x60")],
    quiet: [replica("cluster_update_stopped", "1x50")],
  },
  {
    alert: "EtcdClusterUnchecked",
    labels: OF_CLUSTER,
    fires: [replica("cluster_last_check_timestamp_seconds", "0+60x30 1800x30")],
    quiet: [replica("cluster_last_check_timestamp_seconds", "0+60x50 3000x10")],
  },
  {
    alert: "EtcdClusterWaiverActive",
    labels: `${OF_CLUSTER},check="backup"`,
    fires: [replica("cluster_waiver_end_timestamp_seconds", `${3 * HOUR}x90`, `${OF_CLUSTER},check="backup"`)],
    quiet: [replica("cluster_waiver_end_timestamp_seconds", `${HOUR}x90`, `${OF_CLUSTER},check="backup"`)],
    atMinute: 70,
  },
  {
    alert: "EtcdQuarantinedClaimsGrow",
    labels: OF_CLUSTER,
    fires: [replica("quarantined_claims", "_x1460 1x40")],
    quiet: [replica("quarantined_claims", "1x1500")],
    atMinute: 1_490,
  },
  {
    alert: "EtcdBackupTooOld",
    labels: OF_CLUSTER,
    fires: [condition("BackupReady", "BackupMissing", "1x90")],
    quiet: [condition("BackupReady", "BackupMissing", "1x90"), replica("cluster_sleeping", "1x90")],
    atMinute: 80,
  },
  {
    alert: "EtcdBackupArchiveBehind",
    labels: OF_CLUSTER,
    fires: [replica("backup_schedule_archive_end_timestamp_seconds", "60+60x30 1860x30")],
    quiet: [replica("backup_schedule_archive_end_timestamp_seconds", "60+60x50 3060x10")],
  },
  {
    alert: "EtcdBackupVerificationFailed",
    labels: "",
    fires: [
      replica("backups_verified", "1x60", 'status="False"'),
      replica("backups_verified", "4x60", 'status="True"'),
    ],
    quiet: [
      replica("backups_verified", "0x60", 'status="False"'),
      replica("backups_verified", "4x60", 'status="True"'),
    ],
  },
  {
    alert: "EtcdCertificateLate",
    labels: OF_CLUSTER,
    fires: [condition("TLSReady", "CertificateEnding")],
    quiet: [condition("TLSReady", "CertificatesPending")],
  },
  {
    alert: "EtcdCertificateExpired",
    labels: `${NAMESPACE},cluster="my-etcd",user="app",name="app-binding"`,
    fires: [
      replica(
        "certificate_not_after_timestamp_seconds",
        "1800x60",
        `${NAMESPACE},cluster="my-etcd",user="app",name="app-binding"`,
      ),
    ],
    quiet: [
      replica(
        "certificate_not_after_timestamp_seconds",
        "7200x60",
        `${NAMESPACE},cluster="my-etcd",name="my-etcd-peer-tls"`,
      ),
    ],
  },
  {
    alert: "EtcdOperatorNotLeading",
    labels: "",
    fires: [replica("leading", "1x50 0x10", ""), replica("leading", "0x60", "", 1)],
    quiet: [replica("leading", "0x60", ""), replica("leading", "1x60", "", 1)],
  },
  {
    alert: "EtcdOperatorLate",
    labels: 'controller="cluster"',
    fires: [replica("queue_age_seconds", "90x60", 'controller="cluster"')],
    quiet: [replica("queue_age_seconds", "60x60", 'controller="cluster"')],
  },
  {
    alert: "EtcdOperatorPassesFail",
    labels: 'controller="backup"',
    fires: [replica("passes_total", "0+6x60", 'controller="backup",result="error"')],
    quiet: [
      replica("passes_total", "0+1x60", 'controller="backup",result="error"'),
      replica("passes_total", "0+600x60", 'controller="backup",result="ok"'),
    ],
  },
];
