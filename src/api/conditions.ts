// The sentences appear in `kubectl explain etcdcluster.status.conditions.reason` and in docs/reference/conditions.md.
// Both are generated from this file.

/** Every condition of an EtcdCluster, with the question that it answers. */
export const CONDITION_TYPES = {
  Ready: "Is everything that the spec asks for there and healthy, and does the client Service lead to every member?",
  Available: "Do linearizable reads and writes succeed?",
  Progressing: "Is the operator changing something, or waiting to?",
  Degraded: "Is the cluster working with less than the spec asks for?",
  UpToDate: "Does every member run what the spec asks for?",
  Stalled:
    "Can the operator go on only after a person has acted? The spec is refused, or an update, the backup before it or the restore has failed.",
  BackupReady:
    "Did the latest run of each EtcdBackupSchedule that names the cluster leave a good backup? The condition appears once a schedule names the cluster.",
  Paused: "Is the operator paused? The condition appears with the first pause.",
  Monitored:
    "Does a PodMonitor lead to the members' metrics? The condition appears once spec.monitoring.podMonitor has been enabled.",
  TLSReady:
    "Are all certificates there, valid and trusted by the members? The condition appears once spec.tls asks for TLS, and stays when TLS is turned off.",
  AuthReady:
    "Is authentication in etcd enabled or disabled as the spec asks, and is the operator an administrator? The condition appears once spec.auth has enabled it.",
  ClusterIDMismatch:
    "Does a member answer with the ID of another cluster, or of another member? The condition appears once one has.",
} as const;

/** Every condition of an EtcdPeer, with the question that it answers. */
export const PEER_CONDITION_TYPES = {
  Ready: "Does the member's pod run, and does the member answer?",
} as const;

const SHARED_REASONS = {
  Waiting: "The operator waits; the message states for what, and which rule or guard holds it back.",
  StepRefused:
    "A change that the operator makes is refused or undone; the message states which change, and what refused or undid it.",
  NameTaken:
    "An object that the operator must create exists already, and is not its own; the operator never takes it over.",
  ClaimTaken:
    "The claim with the name that a member needs holds data that is not the member's; the operator never overwrites it.",
  InternalError:
    "The operator fails each time that it reconciles the object; the message states the error. The operator changes nothing until that is over.",
  ObjectTooLarge:
    "The object, or one that belongs to it, is larger than the operator reads; the message states its name, its size and the limit. The operator changes nothing.",
  Deleting: "The object is being deleted; the claims of a cluster that is deleted are kept.",
} as const;

/** Every reason that a condition of an EtcdCluster may have, with its meaning. */
export const REASONS = {
  AllMembersHealthy:
    "Every wanted member is a healthy voter with a ready pod, and a client was served through the client Service.",
  Forming: "The cluster is being created; no majority of its first members has joined yet.",
  MembersMissing: "There are fewer voters than the spec asks for: a lost one was removed, or spec.replicas was raised.",
  MembersUnhealthy: "Some members do not serve clients or have no leader; the message names them.",
  PodsNotReady: "Every member is healthy, but the client Service does not lead to all of them yet.",
  QuorumAvailable: "A linearizable read of the member list succeeded, so a majority of members works.",
  QuorumLost: "Fewer members answer than a majority; the operator changes no data until a majority answers again.",
  MembersUnreachable:
    "The operator cannot reach the members, though their pods are ready: it does not know their state.",
  CorruptionAlarm: "etcd has raised the alarm CORRUPT: until the member is replaced, it refuses every read and write.",
  NoSpaceAlarm:
    "etcd has raised the alarm NOSPACE: it refuses every write until a person makes room and disarms the alarm.",
  BackedUp: "The latest run of every schedule of the cluster left a good backup; the message names it.",
  BackupMissing:
    "A schedule of the cluster left no good backup, or cannot make one; the message states which schedule, and why.",
  NoBackupDue:
    "No backup was due yet, or every schedule of the cluster is suspended; the message states which schedules.",
  BackupPending:
    "The upgrade to the newer minor release of spec.version waits until a backup taken before it is stored; the message states its progress.",
  BackupFailed:
    "The backup before the upgrade to the newer minor release of spec.version has failed, so no member is upgraded. The message states why and what to do.",
  NoSchedule: "No EtcdBackupSchedule names the cluster any longer.",
  Settled: "There is nothing to do.",
  Acting: "The operator makes the change that the message states.",
  Scaling: "Members are being added or removed, one at a time.",
  Replacing: "A member that is lost or could not start is being replaced.",
  Asleep: "spec.replicas is 0: members are stopped, and their data and identity are kept.",
  FallingAsleep: "spec.replicas is 0: members are being stopped, or are about to be.",
  ClaimLost:
    "The cluster sleeps, and claims with members' data are missing or have lost their labels; the message names them.",
  Waking: "Members were stopped, because spec.replicas was 0, and are starting again with their data.",
  Paused:
    "Paused by spec.paused or the annotation etcd.improbable.io/paused: the operator only reports, and renews certificates that are about to end.",
  NoEditWaits:
    "The operator is paused, and no edit of the spec waits: what it asks for was there and healthy before the pause or during it.",
  NotPaused:
    "Neither spec.paused nor the annotation etcd.improbable.io/paused pauses the operator any longer: it acts again.",
  ClientServiceSilent: "Every member is healthy, but connections through the client Service are not answered yet.",
  Rolling: "Members are being restarted, one after another, with what the spec asks for.",
  UpdateStopped:
    "The first member that was restarted with what the spec asks for did not become healthy, and was rolled back; the message states why.",
  UpToDate: "Every member runs what the spec asks for.",
  WaitsForDeletion:
    "spec.updateStrategy.type is OnDelete: members get what the spec asks for when their pods are deleted; the message names them.",
  NoVersionPath:
    "etcd supports no upgrade or downgrade from the release that members run to spec.version; the message states what to do instead.",
  Restoring:
    "The cluster starts from a stored snapshot, and its EtcdRestore is in progress; the message states how far it is.",
  RestoreFailed:
    "The EtcdRestore that fills the cluster's first claims has failed, or those claims are gone; the message states why and what to do.",
  SpecRefused:
    "No member could run what the spec asks for; the message states the field, its value and the valid values. Members keep running as they are.",
  Monitored: "The PodMonitor that leads to the members' metrics is there.",
  MonitorsNotServed:
    "spec.monitoring.podMonitor.enabled is true, but the API server does not know the kind PodMonitor.",
  NotMonitored: "spec.monitoring.podMonitor.enabled is not true, and no PodMonitor of the cluster is left.",
  CertificatesValid: "Every certificate is there and valid; the message states which one ends first.",
  TLSDisabled: "spec.tls asks for no TLS any longer, and no member uses it; the message states what is left of it.",
  CertificatesPending: "A certificate is about to be issued; the message states which one, and by which issuer.",
  CertificatesChanging:
    "Certificates change to a new provider, issuer or Secret, or members change to TLS or back. The message states the progress of members, clients and the operator.",
  CertificateMissing: "A Secret that spec.tls names is not there; the message names it.",
  CertificateInvalid:
    "A Secret holds an unusable certificate, or one that is not the cluster's; the message names the Secret and states why. Members keep their working certificates.",
  SecretNotAllowed:
    'A Secret that spec.tls names lacks the label etcd.improbable.io/tls: "true", which lets EtcdClusters use it; the message states how to set it. Members that use the Secret keep it.',
  RightMissing:
    "The operator may not read or write Secrets, ConfigMaps or Certificates in the namespace. The message states the missing right and the command that grants it.",
  CertificateEnding:
    "A certificate or CA ends soon, and its renewal is long overdue; the message names its Secret. If a pause prevents the rotation of a CA, it states what to do.",
  CertificateExpired: "A certificate has expired; the message names its Secret.",
  IssuerFailed: "cert-manager issues no certificate; the message quotes its reason.",
  AuthEnabled: "Authentication is enabled in etcd, and the operator is an administrator.",
  AuthDisabled: "spec.auth.enabled is false, and authentication is disabled in etcd.",
  AuthPending:
    "The operator is about to create its users, or to enable or disable authentication; the message states what it waits for.",
  AuthUnasked:
    "Authentication is enabled in etcd, and spec.auth is left out: it stays enabled until spec.auth.enabled is false.",
  ClientCertificatesRequired:
    "spec.auth.enabled is true, but clients need no certificates, and the operator logs in with one; the message states what to change.",
  OperatorUserInvalid:
    "The operator's certificate has no common name that can identify the operator in etcd; the message names its Secret.",
  OperatorUserTaken:
    "The common name of the operator's certificate is a user in etcd that is not the operator's. The operator does not make that user an administrator; the message states its owner and what to do.",
  RootWithoutPassword: "etcd's user root was created without a password; the message states how to give it one.",
  RootSecretInvalid: "The Secret with the password of the user root is unusable; the message names it and states why.",
  NotAdministrator:
    "Authentication is enabled in etcd, but the operator is not an administrator; the message states how to make it one.",
  AuthUnknown: "The operator could not find out whether authentication is enabled in etcd; the message states why.",
  OtherClusterAnswered:
    "A member answered with the ID of another cluster or member; the operator does not trust its answers.",
  SameCluster: "No member answers with the ID of another cluster or member any longer.",
  FullStrength: "No member is missing.",
  NotStalled:
    "The spec is not refused, and no update, backup before an update or restore has failed. Other conditions show what else is amiss.",
  ...SHARED_REASONS,
} as const;

/** Every reason that a condition of an EtcdPeer may have. */
export const PEER_REASONS = {
  MemberHealthy: "The member's pod is ready, and the member answers with the expected cluster ID and member ID.",
  MemberUnreachable:
    "The member's pod is ready, but the member does not answer, another member answers in its place, or it has no leader yet. The message states which.",
  PodPending: "The member's pod does not run or is not ready; the message states why.",
  Asleep:
    "The EtcdCluster sleeps, since its spec.replicas is 0, or is waking up: the member is stopped, and its data is kept.",
  ClaimLost: "The claim with the member's data is gone; the operator replaces the member once it is found to be lost.",
  ...SHARED_REASONS,
} as const;

/** Every condition of an EtcdBackup, with the question that it answers. */
export const BACKUP_CONDITION_TYPES = {
  Ready:
    "Is the object stored, and has neither a verification nor the latest daily check found it wrong or missing? With spec.archive: are changes stored as they happen?",
  Complete: "Was the object stored, whole, with its manifest?",
  Failed: "Has the backup ended without an object?",
  Stalled:
    "Has the backup failed, has its verification found the object wrong, or is the object gone? The condition appears then. It is final unless a later check finds the object.",
  Verified:
    "Did an etcd that was restored from the stored object have the member's data? The condition appears once spec.verification.mode is Restore; True and False are final.",
  ObjectFound:
    "Did the latest check find the object in the store, with its manifest and of the right size? Once a day, the two newest Completed EtcdBackups of each schedule are checked. The condition appears with the first result.",
  ObjectDeleted:
    "Has the stored object been deleted? The condition appears once the EtcdBackup is being deleted and its deletionPolicy is Delete.",
} as const;

/** Every reason that a condition of an EtcdBackup may have. */
export const BACKUP_REASONS = {
  BackingUp: "A snapshot is being taken and stored, or is about to be.",
  Completed: "The object is stored, with its manifest beside it; status.object describes it.",
  Archiving: "Every change is being stored as it happens; status.archive states how far.",
  ArchiveStalled: "Changes cannot be stored at this moment, and the pod tries again; the message states why.",
  Retrying: "An attempt has failed, and the operator makes a new one; the message states why.",
  Waiting: SHARED_REASONS.Waiting,
  StepRefused: SHARED_REASONS.StepRefused,
  NameTaken: SHARED_REASONS.NameTaken,
  InternalError: SHARED_REASONS.InternalError,
  ObjectTooLarge: SHARED_REASONS.ObjectTooLarge,
  SpecRefused: "The spec asks for something impossible; the message states the field, its value and the valid values.",
  ClaimNotAllowed:
    "The claim of spec.destination.volume is missing, or lacks the label that allows backups on it; the message states how to set it.",
  ClusterNotFound: "There is no EtcdCluster with the name in spec.source.cluster.name.",
  ClusterNotFormed: "The EtcdCluster has not formed yet.",
  NoQuorum: "No majority of the members answers; a snapshot could lack acknowledged writes.",
  PodPending: "The pod does not run; the message states why.",
  PodRefused:
    "The pod cannot be created, for example because of a quota of the namespace; the message quotes the API server.",
  SecretMissing: "A Secret, or a key of it, that the pod needs is not there; the message names it.",
  ImageUnavailable: "The operator's own image, which the pod runs, cannot be pulled on its node.",
  DeadlineExceeded: "The backup took longer than spec.activeDeadlineSeconds allows.",
  AgentFailed: "The pod ended without a report; the message states how.",
  SourceUnreachable: "No member answers, or each connection broke while the snapshot was read.",
  SourceTLS: "etcd's certificate is not trusted, or etcd refuses the certificate of the pod.",
  SourceAuth: "etcd refuses the user, or the user may not take snapshots, which needs the role root.",
  WrongCluster: "Another etcd cluster answers at the endpoints.",
  SnapshotCorrupt:
    "The snapshot does not match etcd's own checksum, the members' data is marked corrupt, or the stored object does not match its manifest.",
  WrongCredentials: "The store does not know the credentials, or they are missing or expired.",
  AccessDenied: "The store knows the credentials, but they do not allow the request.",
  NoSuchBucket: "The bucket, container or directory is not there.",
  ObjectExists:
    "The key of the object is taken by something that is not of this backup; the operator never overwrites it.",
  AnotherAttempt:
    "A second attempt at the same backup wrote at the same time; the next attempt finds the object that the second one stored.",
  NoSpace: "The store is full.",
  StoreUnreachable: "The store does not answer.",
  StoreTLS: "The store's certificate is not trusted.",
  BadKey: "The encryption key is no valid key, or not the key of the object.",
  BadTask: "The agent cannot carry out its task; the message states why.",
  Stopped: "The pod received the signal to stop.",
  Internal: "A defect of the agent, or an answer that the agent does not understand.",
  Verifying: "The object is being verified, or is about to be.",
  Verified:
    "The object was fetched and restored into an etcd, which has the member's data; the message states what was compared.",
  VerificationFailed:
    "The etcd that was restored from the object does not have the member's data; the message states what differs.",
  RestoreToolFailed: "etcdutl rejects the checksum of the stored snapshot; the message quotes it.",
  NoSuchObject: "The object or its manifest no longer exists.",
  ObjectFound: "The latest check found the object and its manifest in the store.",
  AuthEnabled: "Authentication is enabled in the snapshot, so the etcd that is restored from it answers no queries.",
  DeletingObject: "The stored object is being deleted.",
  ObjectNotDeleted:
    "The stored object could not be deleted; the message states why, and how to delete the EtcdBackup without it.",
} as const;

/** Every condition of an EtcdBackupSchedule, with the question that it answers. */
export const SCHEDULE_CONDITION_TYPES = {
  Ready: "Is a backup made whenever one is due? While spec.suspend is true, none is due.",
  BackupReady: "Did the latest run leave a good backup?",
  Stalled: "Is the spec refused until a person changes it? The condition appears once it has been refused.",
} as const;

/** Every reason that a condition of an EtcdBackupSchedule may have. */
export const SCHEDULE_REASONS = {
  Scheduled: "Backups are made when they are due; the message states when the next one is.",
  Suspended: "spec.suspend is true: no backups are made.",
  BackupRunning: "A backup is due, and waits for an earlier backup that has not ended.",
  BackupCompleted: "The latest backup that has ended is stored; the message names it.",
  BackupFailed: "The latest backup has failed, or its verification found its data wrong; the message states why.",
  ObjectMissing:
    "The latest backup is no longer in the store, or not as it was stored; the message states what the check found.",
  BackupOverdue:
    "No good backup exists of the latest due run or a later one. Its backup was deleted or replaced, or does not end.",
  NoBackupYet: "No backup has ended yet.",
  ClusterAsleep:
    "spec.replicas of the EtcdCluster is 0: no member can be read. When the cluster wakes, the operator makes the latest backup that was due during the sleep.",
  RunMissed:
    "A backup did not start within spec.startingDeadlineSeconds, for example because the operator was down or an earlier backup had not ended.",
  ArchivePlaceTaken: "Another EtcdBackup archives changes of the same etcd in the same place; the message names it.",
  SpecRefused: "The spec asks for something impossible; the message states the field, its value and the valid values.",
  StepRefused: SHARED_REASONS.StepRefused,
  NameTaken: SHARED_REASONS.NameTaken,
  InternalError: SHARED_REASONS.InternalError,
  ObjectTooLarge: SHARED_REASONS.ObjectTooLarge,
} as const;

/** Every condition of an EtcdRestore, with the question that it answers. */
export const RESTORE_CONDITION_TYPES = {
  Ready: "Is the restore complete?",
  Complete: "Does the cluster exist with the data of the snapshot, and can it be read?",
  Failed: "Has the restore ended without a cluster?",
  Stalled: "Has the restore failed? The condition appears then, and it is final.",
} as const;

/** Every reason that a condition of an EtcdRestore may have. */
export const RESTORE_REASONS = {
  Restoring: "Claims are being filled with the data of the snapshot, or are about to be.",
  StartingCluster:
    "The claims are filled; the EtcdCluster starts with them, and the operator waits until it can be read.",
  Completed: "The EtcdCluster is Ready, and was read at a revision that is not below status.revision.",
  Retrying: "An attempt has failed, and the operator makes a new one; the message states why.",
  Waiting: SHARED_REASONS.Waiting,
  StepRefused: SHARED_REASONS.StepRefused,
  NameTaken: SHARED_REASONS.NameTaken,
  InternalError: SHARED_REASONS.InternalError,
  ObjectTooLarge: SHARED_REASONS.ObjectTooLarge,
  Deleting: "The EtcdRestore is being deleted, before its cluster was there.",
  SpecRefused: "The spec asks for something impossible; the message states the field, its value and the valid values.",
  ClusterExists: "There is an EtcdCluster of that name with data of its own; the operator never restores into it.",
  ClaimExists:
    "There are claims that a cluster of that name has left, or another restore has made; the operator never overwrites them.",
  ClaimLost: "A claim that was being filled is gone, or was replaced by a new one.",
  ClaimNotAllowed:
    "The claim of the source is missing, or lacks the label that allows backups on it; the message states how to set it.",
  BackupNotFound:
    "There is no EtcdBackup with the name in spec.source.backupName, or it is being deleted, perhaps with its object.",
  BackupNotCompleted: "The EtcdBackup is still in progress.",
  BackupFailed: "The EtcdBackup has failed and has no object, or its verification found its data wrong.",
  PodPending: "A pod does not run; the message states why.",
  PodRefused:
    "A pod cannot be created, for example because of a quota of the namespace; the message quotes the API server.",
  SecretMissing: "A Secret, or a key of it, that the pods need is not there; the message names it.",
  ImageUnavailable: "An image that the pods run cannot be pulled on its node; the message states which.",
  AgentFailed: "A pod ended without a report; the message states how.",
  RestoreToolFailed: "etcdutl could not restore the snapshot to a data directory; the message quotes it.",
  NoSuchObject: "There is no object at that key.",
  NoSuchBucket: "The bucket, container or directory is not there.",
  SnapshotCorrupt:
    "The object does not match its manifest or etcd's own checksum: it is damaged, has another object's manifest, or changed while it was read.",
  BadKey: "The object is not encrypted with the given key, or it is not encrypted at all.",
  ArchiveGap:
    "The archive lacks requested changes: it has a gap there, begins later, ends before, or does not state their time; the message states which.",
  ArchiveCorrupt: "An object of the archive is missing, is not as it was stored, or is not this cluster's.",
  ReplayDiverged: "The throw-away etcd is not at the expected revision; the replay starts again.",
  AuthEnabled:
    "Authentication is enabled in the snapshot, and the operator has no user in it; the message states what to do.",
  NoSpace: "The volumes of the members are too small for the snapshot; the message states how large they must be.",
  DataExists: "A volume holds data that is not of this restore; the operator never overwrites it.",
  WrongCredentials: "The store does not know the credentials, or they are missing or expired.",
  AccessDenied: "The store knows the credentials, but they do not allow the request.",
  StoreUnreachable: "The store does not answer.",
  StoreTLS: "The store's certificate is not trusted.",
  BadTask: "The agent cannot carry out its task; the message states why.",
  Stopped: "A pod received the signal to stop.",
  Internal: "A defect of the agent, or an answer that the agent does not understand.",
} as const;

/** Reasons that EtcdRoles and EtcdUsers have in common. */
const ACCESS_REASONS = {
  AuthDisabled:
    "Everything is in etcd, but spec.auth of the EtcdCluster does not enable authentication: every client that can connect may read and write everything.",
  NameTaken: "Another owner has the name in etcd or the binding Secret, or an older object asks for it.",
  ClusterNotFound: "There is no EtcdCluster with the name in spec.clusterRef.",
  ClusterNotReady: "The EtcdCluster has not formed yet, sleeps, or is being deleted.",
  Paused:
    "The EtcdCluster is paused: the operator only reports, and renews the certificate of the binding; everything else waits.",
  EtcdUnreachable: "The operator could reach no member; the message states why.",
  Applying: "The operator is making a change; the message states which.",
  StepRefused: SHARED_REASONS.StepRefused,
  Waiting: SHARED_REASONS.Waiting,
  InternalError: SHARED_REASONS.InternalError,
  ObjectTooLarge: SHARED_REASONS.ObjectTooLarge,
  Deleting: "The object is being deleted; what it has made in etcd is deleted first.",
} as const;

/** Every condition of an EtcdRole, with the question that it answers. */
export const ROLE_CONDITION_TYPES = {
  Ready: "Is the role in etcd, with exactly these permissions?",
} as const;

/** Every reason that a condition of an EtcdRole may have. */
export const ROLE_REASONS = {
  Granted: "The role is in etcd, with exactly these permissions.",
  ...ACCESS_REASONS,
} as const;

/** Every condition of an EtcdUser, with the question that it answers. */
export const USER_CONDITION_TYPES = {
  Ready: "Is the user in etcd, with exactly these roles, and does the binding Secret hold valid credentials?",
  Stalled: "Is the spec refused until a person changes it? The condition appears once it has been refused.",
} as const;

/** Every reason that a condition of an EtcdUser may have. */
export const USER_REASONS = {
  Bound: "The user is in etcd, with exactly these roles, and the binding Secret holds valid credentials.",
  RoleMissing: "A role of spec.roles is not in etcd; the message names it. The user has the others.",
  SpecRefused: "The spec asks for something impossible; the message states the field, its value and the valid values.",
  PasswordRefused:
    "etcd does not accept the password that was written into the binding Secret; the message states why. The previous password stays valid.",
  CertificatePending:
    "The certificate of the binding is not issued yet, or has expired and is not renewed yet; the message states its issuer and the problem.",
  ...ACCESS_REASONS,
} as const;

export type ConditionType = keyof typeof CONDITION_TYPES;
export type Reason = keyof typeof REASONS;
export type PeerReason = keyof typeof PEER_REASONS;
export type BackupConditionType = keyof typeof BACKUP_CONDITION_TYPES;
export type BackupReason = keyof typeof BACKUP_REASONS;
export type ScheduleConditionType = keyof typeof SCHEDULE_CONDITION_TYPES;
export type ScheduleReason = keyof typeof SCHEDULE_REASONS;
export type RestoreConditionType = keyof typeof RESTORE_CONDITION_TYPES;
export type RestoreReason = keyof typeof RESTORE_REASONS;
export type RoleReason = keyof typeof ROLE_REASONS;
export type UserReason = keyof typeof USER_REASONS;
