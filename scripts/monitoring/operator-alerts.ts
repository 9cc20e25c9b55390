import { type Alert, BY_NAME, LAPSE, lastOfEach, OF_CLUSTER, ofEach } from "./alert.ts";

// Alerts from the operator's metrics, about clusters and about the operator itself.

const selected = (type: string, reason: string) => `cluster_abnormal_condition{type="${type}", reason=~"${reason}"}`;
/** Clusters with a condition of one of these reasons, at the last scrape or within the last three minutes. */
const abnormalNow = (type: string, reason: string) => ofEach(selected(type, reason));
const abnormal = (type: string, reason: string) => lastOfEach(selected(type, reason));
const asleep = `unless on (namespace, name) ${lastOfEach("cluster_sleeping")}`;
const claims = ofEach("quarantined_claims");
const oldestClaim = ofEach("quarantined_claims_oldest_timestamp_seconds");

const ARCHIVE_END = "etcd_operator_backup_schedule_archive_end_timestamp_seconds";
const archiveEnd = `max ${BY_NAME} (${ARCHIVE_END})`;
const archiveEndBefore = `max ${BY_NAME} (${ARCHIVE_END} offset 20m)`;
const passes = (selector: string) => `sum by (controller) (rate(etcd_operator_passes_total${selector}[5m]))`;
const failedPasses = passes('{result=~"error|failed"}');

const CLUSTER_ALERTS: readonly Alert[] = [
  {
    name: "EtcdClusterQuorumLost",
    severity: "critical",
    for: "1m",
    keepFiringFor: LAPSE,
    expr: abnormalNow("Available", "QuorumLost"),
    summary: "A cluster has no quorum.",
    description: `${OF_CLUSTER} has no quorum: it serves no linearizable read and no write.`,
  },
  {
    name: "EtcdClusterUnreachable",
    severity: "warning",
    for: "5m",
    expr: abnormal("Available", "MembersUnreachable"),
    summary: "The operator cannot reach the members of a cluster.",
    description: `${OF_CLUSTER}: pods are ready, but the operator cannot ask the members, and heals and changes nothing.`,
  },
  {
    name: "EtcdClusterNoQuorumMargin",
    severity: "warning",
    for: "10m",
    expr: `${lastOfEach("cluster_quorum_margin")} == 0 and ${lastOfEach("cluster_members_wanted")} > 2`,
    summary: "A cluster does not survive the loss of one more member.",
    description: `${OF_CLUSTER}: when one more member is lost, the quorum is lost.`,
  },
  {
    name: "EtcdClusterNotReady",
    severity: "warning",
    for: "30m",
    expr: `${abnormal("Ready", ".+")} ${asleep}`,
    summary: "A cluster has not been Ready for half an hour.",
    description: `${OF_CLUSTER} is not Ready. Its conditions state why.`,
  },
  {
    name: "EtcdClusterDatabaseFull",
    severity: "critical",
    for: "1m",
    keepFiringFor: LAPSE,
    expr: abnormalNow("Available", "NoSpaceAlarm"),
    summary: "A cluster refuses every write, because a database has reached its quota.",
    description: `${OF_CLUSTER}: the alarm NOSPACE is raised, and etcd refuses every write.`,
  },
  {
    name: "EtcdClusterDatabaseNearQuota",
    severity: "warning",
    for: "10m",
    expr: `${lastOfEach("member_database_bytes")} / ${lastOfEach("cluster_database_quota_bytes")} > 0.8`,
    summary: "A database has used most of its quota.",
    description: `${OF_CLUSTER}: the largest database has {{ $value | humanizePercentage }} of its quota.`,
  },
  {
    name: "EtcdClusterDataCorrupt",
    severity: "critical",
    for: "1m",
    keepFiringFor: LAPSE,
    expr: abnormalNow("Available", "CorruptionAlarm"),
    summary: "The data of a member differs from that of the others.",
    description: `${OF_CLUSTER}: the alarm CORRUPT is raised, and etcd refuses every read and write.`,
  },
  {
    name: "EtcdClusterLearnerStuck",
    severity: "warning",
    for: "30m",
    expr: `${lastOfEach("cluster_learners")} > 0`,
    summary: "A new member does not become a voter.",
    description: `${OF_CLUSTER} has had a member without a vote for half an hour.`,
  },
  {
    name: "EtcdClusterUpdateStopped",
    severity: "warning",
    for: "1m",
    keepFiringFor: LAPSE,
    expr: `${ofEach("cluster_update_stopped")} == 1`,
    summary: "An update was rolled back.",
    description: `${OF_CLUSTER}: the first updated member did not become healthy and was rolled back.`,
  },
  {
    name: "EtcdClusterUnchecked",
    severity: "warning",
    for: "5m",
    expr: `time() - ${lastOfEach("cluster_last_check_timestamp_seconds")} > 900`,
    summary: "The operator has not checked a cluster for a quarter of an hour.",
    description: `${OF_CLUSTER} was last checked {{ $value | humanizeDuration }} ago. Its status may be out of date.`,
  },
  {
    name: "EtcdClusterWaiverActive",
    severity: "info",
    for: "1h",
    expr: `max by (namespace, name, check) (last_over_time(etcd_operator_cluster_waiver_end_timestamp_seconds[3m])) > time()`,
    summary: "A check of updates is waived.",
    description: `${OF_CLUSTER}: updates skip the check {{ $labels.check }} until {{ $value | humanizeTimestamp }}.`,
  },
  {
    name: "EtcdQuarantinedClaimsGrow",
    severity: "warning",
    for: "15m",
    // No sample a day ago: the claim is the first, or Prometheus was installed today.
    expr: `${claims} > max ${BY_NAME} (etcd_operator_quarantined_claims offset 1d) or ${claims} and time() - ${oldestClaim} < 86400`,
    summary: "The number of quarantined claims has grown within a day.",
    description: `${OF_CLUSTER} has {{ $value }} quarantined claims, more than a day ago.`,
  },
  {
    name: "EtcdBackupTooOld",
    severity: "warning",
    for: "1h",
    expr: `${abnormal("BackupReady", "BackupMissing")} ${asleep}`,
    summary: "The latest run of a schedule left no good backup.",
    description: `${OF_CLUSTER}: a schedule has left no good backup for an hour after one was due.`,
  },
  {
    name: "EtcdBackupArchiveBehind",
    severity: "warning",
    for: "10m",
    // The end is 0 until something is stored, which takes minutes.
    expr: `time() - (${archiveEnd} > 0) > 900 or ${archiveEnd} == 0 and ${archiveEndBefore} == 0`,
    summary: "An archive of changes is behind.",
    description:
      "EtcdBackupSchedule {{ $labels.namespace }}/{{ $labels.name }}: changes of a quarter of an hour or more are not stored.",
  },
  {
    name: "EtcdBackupVerificationFailed",
    severity: "critical",
    for: "1m",
    expr: 'max (etcd_operator_backups_verified{status="False"}) > 0',
    summary: "A backup is damaged, or could not be verified for a day.",
    description: "{{ $value }} existing EtcdBackups have the condition Verified with the status False.",
  },
  {
    name: "EtcdCertificateLate",
    severity: "warning",
    for: "5m",
    expr: abnormal("TLSReady", "CertificateEnding"),
    summary: "The renewal of a certificate is long overdue.",
    description: `${OF_CLUSTER}: a certificate or CA ends soon, and was not renewed.`,
  },
  {
    name: "EtcdCertificateExpired",
    severity: "critical",
    for: "1m",
    expr: "max by (namespace, cluster, user, name) (etcd_operator_certificate_not_after_timestamp_seconds) < time()",
    summary: "A certificate has expired.",
    description: "The certificate in Secret {{ $labels.namespace }}/{{ $labels.name }} has expired.",
  },
];

const OPERATOR_ALERTS: readonly Alert[] = [
  {
    name: "EtcdOperatorNotLeading",
    severity: "critical",
    for: "2m",
    expr: "max (etcd_operator_leading) < 1 or absent(etcd_operator_leading) or min (max by (shard) (etcd_operator_shard_leading)) < 1",
    summary: "No scraped process of the operator leads.",
    description:
      "No scraped replica of the operator leads, or a shard has no leader. If so, nothing heals, changes or backs up clusters.",
  },
  {
    name: "EtcdOperatorLabelsRenamed",
    severity: "warning",
    for: "10m",
    expr: 'count(etcd_operator_cluster_members_wanted{exported_namespace!=""}) > 0',
    summary: "Prometheus renames labels of the operator's metrics, so that alerts name other objects.",
    description:
      "The label namespace of {{ $value }} series is that of the operator. Set honorLabels in its PodMonitor.",
  },
  {
    name: "EtcdOperatorNamespaceRefused",
    severity: "warning",
    for: "15m",
    expr: "max (etcd_operator_refused_namespaces) > 0",
    summary: "The operator may not read a namespace that it is to watch.",
    description:
      "{{ $value }} namespaces of --watch-namespaces are left out, because a right is missing there. Their clusters are not managed.",
  },
  {
    name: "EtcdOperatorLate",
    severity: "warning",
    for: "10m",
    expr: "max by (controller) (etcd_operator_queue_age_seconds) > 60",
    summary: "The operator is late.",
    description:
      "An object has waited {{ $value | humanizeDuration }} for the controller {{ $labels.controller }} of the operator.",
  },
  {
    name: "EtcdOperatorPassesFail",
    severity: "warning",
    for: "15m",
    // Three failed passes a minute, or more than half of the passes of a small installation.
    expr: `${failedPasses} > 0.05 or ${failedPasses} / ${passes("")} > 0.5`,
    summary: "Passes of the operator fail.",
    description: "Passes of the controller {{ $labels.controller }} end with an error, or cannot observe the object.",
  },
];

export const CLUSTER_AND_OPERATOR_ALERTS = { clusters: CLUSTER_ALERTS, operator: OPERATOR_ALERTS } as const;
