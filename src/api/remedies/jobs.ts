import type { BackupReason, RestoreReason, ScheduleReason } from "#api/conditions.ts";
import { type Care, passing, remedy, SHARED } from "./remedy.ts";

// A backup or restore waits ten minutes for what it does not control. Then it fails, and Failed is final.

const WAITS = "It waits ten minutes, then it fails.";
const FAILS = "It has failed, and this is final.";
const RETRIES = "The pod tries again several times; then it fails for good.";
const ANEW = "create another EtcdBackup";
const AGAIN = "Then delete the EtcdRestore and create a new one.";

/** Remedies for reasons that backups and restores have in common. */
const JOB_REMEDIES = {
  Retrying: passing("A new attempt follows; the message states why the last one failed."),
  Waiting: SHARED.Waiting,
  StepRefused: remedy(
    WAITS,
    "Raise the quota or correct the policy that the message names.",
    "troubleshooting.md#something-that-is-refused",
  ),
  InternalError: SHARED.InternalError,
  ObjectTooLarge: SHARED.ObjectTooLarge,
  PodPending: remedy(WAITS, "Read the message, and provide what the pod lacks, such as a node or its volume."),
  PodRefused: remedy(WAITS, "Raise the quota, or correct the policy that refuses the pod."),
  Stopped: passing("The pod was evicted or its node drained: a new attempt follows."),
  Internal: remedy(RETRIES, "Report the message as a defect."),
} as const;

const STALLED_ARCHIVE = remedy(
  "The pod tries again until it succeeds. Changes are not lost while etcd keeps their history.",
  "Read the message: it names the store or etcd. `status.archive.time` shows up to when changes are stored.",
);

/** Remedies for reasons of EtcdBackups. */
export const BACKUP_REMEDIES: Readonly<Record<BackupReason, Care>> = {
  ...JOB_REMEDIES,
  BackingUp: passing("The snapshot is taken and stored; status.progress shows how far."),
  Completed: "well",
  Archiving: "well",
  ArchiveStalled: STALLED_ARCHIVE,
  NameTaken: remedy(
    WAITS,
    "Delete the Job that the message names if nothing needs it, or create the EtcdBackup under another name.",
  ),
  SpecRefused: remedy(FAILS, `Correct the field that the message names, and ${ANEW}.`),
  ClaimNotAllowed: remedy(WAITS, "Label the claim with the command in the message.", "backup.md#once"),
  ClusterNotFound: remedy(WAITS, `Create the EtcdCluster, or correct the name and ${ANEW}.`),
  ClusterNotFormed: remedy(WAITS, "Read Ready of the EtcdCluster."),
  NoQuorum: remedy(WAITS, "Bring a majority of the members back.", "troubleshooting.md#a-member-that-stays-down"),
  SecretMissing: remedy(WAITS, "Create the Secret or its key in the namespace of the EtcdBackup.", "object-stores.md"),
  ImageUnavailable: remedy(
    WAITS,
    "Let the node pull the operator's image: pull Secret, mirror or registry.",
    "install.md#install",
  ),
  DeadlineExceeded: remedy(FAILS, `Raise spec.activeDeadlineSeconds, and ${ANEW}.`),
  AgentFailed: remedy(RETRIES, `Read how the pod ended, such as OOMKilled. Correct podTemplate, and ${ANEW}.`),
  SourceUnreachable: remedy(RETRIES, `Open port 2379 to the backup's pods, and ${ANEW}.`),
  SourceTLS: remedy(FAILS, `Correct the Secret that the message names: its CA or its client certificate; ${ANEW}.`),
  SourceAuth: remedy(FAILS, `Give the user the role root, or correct its password; ${ANEW}.`),
  WrongCluster: remedy(FAILS, `Correct the endpoints: another etcd answers there; ${ANEW}.`),
  SnapshotCorrupt: remedy(
    RETRIES,
    "Read Available of the EtcdCluster. At CorruptionAlarm, look whether a member is replaced. Otherwise create another EtcdBackup.",
    "troubleshooting.md#data-that-differs",
  ),
  WrongCredentials: remedy(
    FAILS,
    `Correct the Secret that the message names, and ${ANEW}.`,
    "object-stores.md#what-each-store-needs",
  ),
  AccessDenied: remedy(
    FAILS,
    `Grant the rights that the store needs, and ${ANEW}.`,
    "object-stores.md#what-each-store-needs",
  ),
  NoSuchBucket: remedy(FAILS, `Create the bucket, container or directory, or correct its name; ${ANEW}.`),
  ObjectExists: remedy(
    "The object stays as it is; the backup has failed.",
    `Keep the object: it may be a good backup of another cluster. Use another prefix or URL, and ${ANEW}.`,
  ),
  AnotherAttempt: passing("The next attempt finds the object that the second one stored."),
  NoSpace: remedy(FAILS, `Make room in the store, or keep fewer backups, and ${ANEW}.`),
  StoreUnreachable: remedy(
    RETRIES,
    `Check endpoint, DNS, egress rules and proxy of the pod; ${ANEW}.`,
    "object-stores.md#proxies",
  ),
  StoreTLS: remedy(
    FAILS,
    `Put the store's CA as ca.crt into the Secret, and ${ANEW}.`,
    "object-stores.md#what-each-store-needs",
  ),
  BadKey: remedy(
    FAILS,
    "No valid key: put one under `key`. Another key: put the old one back. Never replace a key with which backups exist; use a new Secret.",
    "backup.md#once",
  ),
  BadTask: remedy(
    FAILS,
    `Correct what the message names. If it names nothing of yours, apply the operator's manifest again. Then ${ANEW}.`,
  ),
  Verifying: passing("The object is fetched and restored into a temporary etcd."),
  Verified: "well",
  VerificationFailed: remedy(
    "The object is kept, and the schedule does not count it as good.",
    `Do not rely on this backup; ${ANEW}. If it fails again, compare the members.`,
    "troubleshooting.md#data-that-differs",
  ),
  RestoreToolFailed: remedy(
    "The object is kept, and the schedule does not count it as good.",
    `Do not rely on this backup; ${ANEW}.`,
  ),
  ObjectFound: "well",
  NoSuchObject: remedy(
    "The verification or the daily check has failed: the schedule does not count the backup as good.",
    `Find what deleted the object, such as a lifecycle rule; ${ANEW}.`,
  ),
  AuthEnabled: remedy(
    "The object is stored; its content is not compared.",
    "Rehearse a restore of it into another namespace.",
    "restore.md#with-users",
  ),
  DeletingObject: passing("The object is deleted in the store, then the EtcdBackup."),
  ObjectNotDeleted: remedy(
    "The deletion is retried after pauses of ten minutes up to two hours.",
    "Correct what the message names, or set the annotation in it to keep the object.",
  ),
};

/** Remedies for reasons of EtcdBackupSchedules. */
export const SCHEDULE_REMEDIES: Readonly<Record<ScheduleReason, Care>> = {
  Scheduled: "well",
  Suspended: remedy("No backups are made. An archive of changes continues.", "Set spec.suspend to false."),
  BackupRunning: remedy(
    "The due run waits for the earlier backup.",
    "If runs always wait, schedule them less often, or set spec.concurrencyPolicy to Allow.",
  ),
  BackupCompleted: "well",
  BackupFailed: remedy(
    "The run is repeated when the message states a time. Otherwise the next run makes another backup.",
    "Read the reason of the EtcdBackup that the message names.",
    "when-something-fails.md#etcdbackup",
  ),
  ObjectMissing: remedy(
    "The next run makes another backup. A later daily check may find the object again.",
    "Find what deleted the object, such as a lifecycle rule. Copy the object and its manifest back, or create an EtcdBackup.",
  ),
  BackupOverdue: remedy(
    "The next run makes another backup.",
    "Look for a backup that does not end, or that was deleted: `kubectl get etcdbackups`.",
  ),
  NoBackupYet: remedy("The first run makes a backup.", "Nothing. To have one now, create an EtcdBackup."),
  ClusterAsleep: remedy("When the cluster wakes, the run that was due last is made.", "Nothing"),
  RunMissed: remedy(
    "The next run is made when it is due.",
    "If the operator was running at that time, raise startingDeadlineSeconds, or look for a backup that does not end.",
  ),
  ArchivePlaceTaken: remedy("This schedule archives nothing.", "Give one of the two schedules another prefix."),
  SpecRefused: remedy("No backups are made.", "Correct the field that the message names."),
  StepRefused: SHARED.StepRefused,
  NameTaken: SHARED.NameTaken,
  InternalError: SHARED.InternalError,
  ObjectTooLarge: SHARED.ObjectTooLarge,
};

/** Remedies for reasons of EtcdRestores. */
export const RESTORE_REMEDIES: Readonly<Record<RestoreReason, Care>> = {
  ...JOB_REMEDIES,
  Restoring: passing("Claims are filled; the message states how many."),
  StartingCluster: remedy("The members start.", "Nothing. If it stays, read Ready of the new EtcdCluster."),
  Completed: "well",
  NameTaken: remedy(
    WAITS,
    "Delete the Job that the message names if nothing needs it, or create the EtcdRestore under another name.",
  ),
  Deleting: passing("Claims that hold no cluster's data yet are deleted."),
  SpecRefused: remedy(FAILS, `Correct the field that the message names. ${AGAIN}`),
  ClusterExists: remedy(
    FAILS,
    `Choose a free clusterName. For the same name, first back up that EtcdCluster. ${AGAIN}`,
    "restore.md#under-the-same-name",
  ),
  ClaimExists: remedy(
    FAILS,
    `Choose another clusterName: those claims, also quarantined ones, may hold the last copy of data. ${AGAIN}`,
    "restore.md#under-the-same-name",
  ),
  ClaimLost: remedy(
    "It has failed. Claims that a cluster may have used are kept.",
    "Find what deleted the claim. Then create a new EtcdRestore with a free clusterName.",
  ),
  ClaimNotAllowed: remedy(WAITS, "Label the claim with the command in the message."),
  BackupNotFound: remedy(
    WAITS,
    "Name an existing EtcdBackup, or use source.object with the key of the object.",
    "restore.md",
  ),
  BackupNotCompleted: passing("The restore begins when the backup is complete."),
  BackupFailed: remedy(FAILS, `Name another EtcdBackup. ${AGAIN}`),
  SecretMissing: remedy(WAITS, "Create the Secret or its key in the namespace of the EtcdRestore.", "object-stores.md"),
  ImageUnavailable: remedy(
    WAITS,
    "Let the node pull the image that the message names.",
    "install.md#a-mirror-of-etcds-images",
  ),
  AgentFailed: remedy(RETRIES, `Read how the pod ended, such as OOMKilled. Correct podTemplate. ${AGAIN}`),
  RestoreToolFailed: remedy(FAILS, `Check that version is that of the backup or a later one. ${AGAIN}`),
  NoSuchObject: remedy(FAILS, `List the store to find the key, and correct it. ${AGAIN}`, "restore.md"),
  NoSuchBucket: remedy(FAILS, `Correct the bucket, container or directory. ${AGAIN}`),
  SnapshotCorrupt: remedy(FAILS, `Use another backup. ${AGAIN}`),
  BadKey: remedy(FAILS, `Give the key with which the backup was encrypted, in spec.source.encryption. ${AGAIN}`),
  ArchiveGap: remedy(
    FAILS,
    `Choose a time or a backup that the message offers. ${AGAIN}`,
    "restore.md#to-a-point-in-time",
  ),
  ArchiveCorrupt: remedy(FAILS, `Choose an earlier time, or a later backup. ${AGAIN}`, "restore.md#to-a-point-in-time"),
  ReplayDiverged: passing("The replay starts again; after several attempts it fails."),
  AuthEnabled: remedy(FAILS, `Set auth.enabled in clusterTemplate.spec. ${AGAIN}`, "restore.md#with-users"),
  NoSpace: remedy(FAILS, `Set the storage size that the message names. ${AGAIN}`),
  DataExists: remedy("The data stays; the restore has failed.", `Use a storage class with empty volumes. ${AGAIN}`),
  WrongCredentials: remedy(
    FAILS,
    `Correct the Secret that the message names. ${AGAIN}`,
    "object-stores.md#what-each-store-needs",
  ),
  AccessDenied: remedy(FAILS, `Grant the rights to read. ${AGAIN}`, "object-stores.md#what-each-store-needs"),
  StoreUnreachable: remedy(
    RETRIES,
    `Check endpoint, DNS, egress rules and proxy of the pod. ${AGAIN}`,
    "object-stores.md#proxies",
  ),
  StoreTLS: remedy(
    FAILS,
    `Put the store's CA as ca.crt into the Secret. ${AGAIN}`,
    "object-stores.md#what-each-store-needs",
  ),
  BadTask: remedy(
    FAILS,
    `Correct what the message names. If it names nothing of yours, apply the operator's manifest again. ${AGAIN}`,
  ),
};
