import type { Waivable } from "#api/waivers.ts";
import { type AlertCase, condition, HOUR, NAMESPACE, OF_CLUSTER, replica, type Series } from "./alert-series.ts";
import { MEMBER_ALERT_CASES } from "./member-alert-cases.ts";

const BACKUP_WAIVED = `${OF_CLUSTER},check="${"BackupFirst" satisfies Waivable}"`;

/** Two processes that both lead: the first leads shard 0, and the second one had these values for shard 1. */
const shards = (first: string, second: string): readonly Series[] => [
  replica("leading", "1x60", ""),
  replica("leading", "1x60", "", 1),
  replica("shard_leading", first, 'shard="0"'),
  replica("shard_leading", "0x60", 'shard="1"'),
  replica("shard_leading", "0x60", 'shard="0"', 1),
  replica("shard_leading", second, 'shard="1"', 1),
];

const OPERATOR_ALERT_CASES: readonly AlertCase[] = [
  {
    alert: "EtcdClusterQuorumLost",
    labels: OF_CLUSTER,
    fires: [condition("Available", "QuorumLost")],
    // The process that leads ends. The next one is scraped a minute later.
    alsoFires: [[condition("Available", "QuorumLost", "1x58 stale")]],
    quiet: [condition("Available", "MembersUnreachable")],
    alsoQuiet: [
      [condition("Available", "Forming"), replica("cluster_quorum_margin", "-2x60")],
      [condition("Available", "Waking"), replica("cluster_quorum_margin", "-2x60")],
      [condition("Available", "QuorumLost", "1x50 stale")],
    ],
  },
  {
    alert: "EtcdClusterUnreachable",
    labels: OF_CLUSTER,
    fires: [condition("Available", "MembersUnreachable")],
    quiet: [condition("Available", "MembersUnreachable", "_x57 1x3")],
    alsoQuiet: [[condition("Available", "QuorumLost")]],
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
    // Another replica leads. It is scraped two minutes after the first one has ended.
    alsoFires: [[condition("Ready", "StepRefused", "1x40 stale"), condition("Ready", "StepRefused", "_x43 1x20", 1)]],
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
    // A process that has never checked the cluster has begun to lead.
    alsoFires: [[replica("cluster_last_check_timestamp_seconds", "_x30 1800x40")]],
    alsoQuiet: [[replica("cluster_last_check_timestamp_seconds", "_x50 3000x20")]],
  },
  {
    alert: "EtcdClusterWaiverActive",
    labels: BACKUP_WAIVED,
    fires: [replica("cluster_waiver_end_timestamp_seconds", `${3 * HOUR}x90`, BACKUP_WAIVED)],
    quiet: [replica("cluster_waiver_end_timestamp_seconds", `${HOUR}x90`, BACKUP_WAIVED)],
    atMinute: 70,
  },
  {
    alert: "EtcdQuarantinedClaimsGrow",
    labels: OF_CLUSTER,
    fires: [
      replica("quarantined_claims", "_x1460 1x40"),
      replica("quarantined_claims_oldest_timestamp_seconds", `_x1460 ${1_460 * 60}x40`),
    ],
    alsoFires: [
      [
        replica("quarantined_claims", "1x1460 2x40"),
        replica("quarantined_claims_oldest_timestamp_seconds", `-${240 * HOUR}x1500`),
      ],
    ],
    quiet: [
      replica("quarantined_claims", "1x1500"),
      replica("quarantined_claims_oldest_timestamp_seconds", `-${240 * HOUR}x1500`),
    ],
    // Prometheus was installed an hour ago; the claims are ten days old.
    alsoQuiet: [
      [
        replica("quarantined_claims", "_x1430 3x70"),
        replica("quarantined_claims_oldest_timestamp_seconds", `_x1430 -${240 * HOUR}x70`),
      ],
    ],
    atMinute: 1_490,
  },
  {
    alert: "EtcdBackupTooOld",
    labels: OF_CLUSTER,
    fires: [condition("BackupReady", "BackupMissing", "1x90")],
    quiet: [condition("BackupReady", "BackupMissing", "1x90"), replica("cluster_sleeping", "1x90")],
    alsoQuiet: [[condition("BackupReady", "NoBackupDue", "1x90")]],
    atMinute: 80,
  },
  {
    alert: "EtcdBackupArchiveBehind",
    labels: OF_CLUSTER,
    fires: [replica("backup_schedule_archive_end_timestamp_seconds", "60+60x30 1860x30")],
    // Nothing was ever stored.
    alsoFires: [[replica("backup_schedule_archive_end_timestamp_seconds", "0x60")]],
    quiet: [replica("backup_schedule_archive_end_timestamp_seconds", "60+60x50 3060x10")],
    // It begins to store after a while; the second one has just been created.
    alsoQuiet: [
      [replica("backup_schedule_archive_end_timestamp_seconds", "0x25 1500+60x40")],
      [replica("backup_schedule_archive_end_timestamp_seconds", "_x40 0x20")],
    ],
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
    alsoFires: [[replica("leading", "1x50 stale", "")], shards("1x60", "1x50 0x10")],
    alsoQuiet: [shards("1x60", "1x60")],
  },
  {
    alert: "EtcdOperatorLabelsRenamed",
    labels: "",
    fires: [replica("cluster_members_wanted", "3x60", 'namespace="operator",exported_namespace="shop",name="my-etcd"')],
    quiet: [replica("cluster_members_wanted", "3x60")],
  },
  {
    alert: "EtcdOperatorNamespaceRefused",
    labels: "",
    // A standby may read everything, and the process that leads may not.
    fires: [replica("refused_namespaces", "0x60", ""), replica("refused_namespaces", "1x60", "", 1)],
    quiet: [replica("refused_namespaces", "0x60", "")],
    alsoQuiet: [[replica("refused_namespaces", "0x50 1x10", "")]],
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
    // Objects that cannot be observed; and the only object of a small installation.
    alsoFires: [
      [
        replica("passes_total", "0+6x60", 'controller="backup",result="failed"'),
        replica("passes_total", "0+600x60", 'controller="backup",result="ok"'),
      ],
      [
        replica("passes_total", "0+2x60", 'controller="backup",result="error"'),
        replica("passes_total", "0+1x60", 'controller="backup",result="ok"'),
      ],
    ],
    alsoQuiet: [[replica("passes_total", "0+60x60", 'controller="backup",result="conflict"')]],
  },
];

/** Cases of all alerts. */
export const ALERT_CASES: readonly AlertCase[] = [...MEMBER_ALERT_CASES, ...OPERATOR_ALERT_CASES];
