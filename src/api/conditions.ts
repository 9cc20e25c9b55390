// Where do people read these sentences?
//   In `kubectl explain etcdcluster.status.conditions.reason` and in docs/reference/conditions.md. Both are generated from here.

/** Every condition of an EtcdCluster, with the question that it answers. */
export const CONDITION_TYPES = {
  Ready: "Is everything that the spec asks for there and healthy, so that the client Service leads to every member?",
  Available: "Do linearizable reads and writes succeed?",
  Progressing: "Is the operator changing something, or waiting to?",
  Degraded: "Is the cluster working with less than the spec asks for?",
  UpToDate: "Does every member run what the spec asks for?",
  BackupReady:
    "Did the latest run of each EtcdBackupSchedule that names the cluster leave a good backup? The condition is there once one names it.",
  Paused: "Has a person asked the operator to change nothing? The condition is there once somebody has.",
  Monitored:
    "Does a PodMonitor lead to the members' metrics? The condition is there once somebody has asked for one, by spec.monitoring.podMonitor.",
  TLSReady:
    "Are all certificates there, good, and trusted by the members? The condition is there once the cluster asks for TLS, by spec.tls, and says so when it is over.",
  AuthReady:
    "Does etcd ask for users, or not, as the spec says, and may the operator do everything? The condition is there once somebody has asked for users, by spec.auth.",
  ClusterIDMismatch:
    "Does a member answer with the ID of another cluster, or of another member? The condition is there once one has.",
} as const;

/** Every condition of an EtcdPeer, with the question that it answers. */
export const PEER_CONDITION_TYPES = {
  Ready: "Does the member's pod run, and does the member answer?",
} as const;

const SHARED_REASONS = {
  Waiting: "The operator waits; the message says for what, and which rule or guard holds it.",
  StepRefused:
    "A change that the operator wants to make is refused or undone; the message says which one, and by whom.",
  NameTaken: "An object that the operator needs exists already and belongs to somebody else; it is never taken over.",
  ClaimTaken: "A claim of the name that a member needs holds other data than the member's; it is never overwritten.",
  InternalError:
    "The operator fails each time that it looks after the object; the message says at what. Nothing is done until that is over.",
  Deleting: "The object is being deleted; the claims of a cluster that is deleted are kept.",
} as const;

/** Every reason that a condition of an EtcdCluster may have. The sentence is what people read of it. */
export const REASONS = {
  AllMembersHealthy:
    "Every wanted member is a healthy voter with a ready pod, and a client was served through the client Service.",
  Forming: "The cluster is being created; no majority of its first members has joined yet.",
  MembersMissing: "There are fewer voters than the spec asks for: a lost one is gone, or more are wanted than before.",
  MembersUnhealthy: "Some members do not serve clients or have no leader; the message names them.",
  PodsNotReady: "Every member is healthy, and the client Service does not lead to some of them yet.",
  QuorumAvailable: "The members were listed with a linearizable read, so a majority of them works.",
  QuorumLost: "Fewer members answer than a majority; the operator touches no data until enough of them return.",
  MembersUnreachable: "The operator could not ask the members, though their pods are ready: it does not know.",
  CorruptionAlarm: "etcd has raised the alarm CORRUPT: until the member is replaced, it refuses every read and write.",
  NoSpaceAlarm:
    "etcd has raised the alarm NOSPACE: it refuses every write until its database is smaller than its quota.",
  BackedUp: "The latest run of every schedule of the cluster left a good backup; the message names it.",
  BackupMissing: "A schedule of the cluster left no good backup, or makes none; the message says which one, and why.",
  BackupPending:
    "Members go to the newer minor release of spec.version when a backup of the moment before is stored; the message says how far that is.",
  BackupFailed:
    "The backup before members go to the newer minor release of spec.version has failed, and nobody goes there; the message says why, and what to do.",
  NoSchedule: "No EtcdBackupSchedule names the cluster any more.",
  Settled: "There is nothing to do.",
  Acting: "The operator makes the change that the message names.",
  Scaling: "Members are being added or removed, one at a time.",
  Replacing: "A member that is lost or could not start is being replaced.",
  Asleep: "spec.replicas is 0: members are stopped, and their data and identity are kept.",
  FallingAsleep: "spec.replicas is 0: members are being stopped, or are about to be.",
  ClaimLost:
    "The cluster sleeps, and claims with members' data are gone or have lost their labels; the message names them.",
  Waking: "Members were stopped, because spec.replicas was 0, and are starting again with their data.",
  Paused:
    "By spec.paused or the annotation etcd.improbable.io/paused: the operator looks and tells, and changes nothing.",
  NoEditWaits:
    "The operator is paused, and no edit of the spec waits for the end of that: what the spec asks for was there and healthy before, or since.",
  NotPaused:
    "Neither spec.paused nor the annotation etcd.improbable.io/paused pauses any more: the operator acts again.",
  ClientServiceSilent: "Every member is healthy, and whoever connects through the client Service is not answered yet.",
  Rolling: "Members are being restarted, one after another, with what the spec asks for.",
  UpdateStopped:
    "The first member that was restarted with what the spec asks for did not become healthy, and was put back; the message says why.",
  UpToDate: "Every member runs what the spec asks for.",
  WaitsForDeletion:
    "spec.updateStrategy.type is OnDelete: members get what the spec asks for when somebody deletes their pods; the message names them.",
  NoVersionPath: "Members cannot go to spec.version from what they run; the message says what to do instead.",
  Restoring: "The cluster begins with a stored snapshot, and its EtcdRestore is under way; the message says how it is.",
  RestoreFailed:
    "The EtcdRestore by which the cluster was to begin has failed, or the claims are gone that it has filled; the message says why and what to do.",
  SpecRefused:
    "The spec asks for what no member could run; the message names the field, what it is and what it may be. Members keep what they have.",
  Monitored: "The PodMonitor that leads to the members' metrics is there.",
  MonitorsNotServed: "spec.monitoring.podMonitor is true, and the API server knows no PodMonitors.",
  NotMonitored: "spec.monitoring.podMonitor is false, and no PodMonitor of the cluster is left.",
  CertificatesValid: "Every certificate is there and good; the message says which one ends first.",
  TLSDisabled: "Nobody is asked to speak TLS any more, and no member does; the message says what is left of it.",
  CertificatesPending: "A certificate is about to be made; the message says which one, and by whom.",
  CertificatesChanging:
    "What is shown is to come from somewhere else: another provider, issuer or Secret; or members are on their way to TLS, or back. The message says how far members, clients and the operator have come.",
  CertificateMissing: "A Secret that somebody else is to fill is not there; the message names it.",
  CertificateInvalid:
    "A Secret holds a certificate that is of no use, or that is not the cluster's; the message names it and says why. Members keep what works.",
  SecretNotAllowed:
    'A Secret that spec.tls names does not say by the label etcd.improbable.io/tls: "true" that EtcdClusters may have it; the message says how. Members that have it keep it.',
  RightMissing:
    "The operator may not read or write Secrets, ConfigMaps or Certificates in the namespace; the message says which right is missing, and the command that grants it.",
  CertificateExpired: "The time of a certificate is over; the message names its Secret.",
  IssuerFailed: "cert-manager issues no certificate; the message has its own words.",
  AuthEnabled: "etcd asks for users, and knows the operator for an administrator.",
  AuthDisabled: "spec.auth.enabled is false, and etcd asks nobody who it is.",
  AuthPending: "Users are about to be made, or to be asked for or no more; the message says what is waited for.",
  AuthUnasked: "etcd asks for users, and spec.auth is left out: it stays so until spec.auth.enabled is false.",
  ClientCertificatesRequired:
    "spec.auth.enabled is true, and clients show no certificates, by which the operator would log in; the message says what to change.",
  OperatorUserInvalid:
    "The certificate of the operator names nobody whom etcd could know as the operator; the message names its Secret.",
  OperatorUserTaken:
    "The certificate of the operator has the name of a user of etcd that is somebody else's: nobody comes to be an administrator by that; the message says whose, and what to do.",
  RootWithoutPassword: "etcd's user root was made without a password; the message says how it comes to have one.",
  RootSecretInvalid: "The Secret with the password of the user root is of no use; the message names it and says why.",
  NotAdministrator:
    "etcd asks for users, and does not know the operator for an administrator; the message says how it comes to.",
  AuthUnknown: "Whether etcd asks for users could not be told; the message says why.",
  OtherClusterAnswered: "A member answered with the ID of another cluster or member; it is not believed.",
  SameCluster: "No member answers with the ID of another cluster or member any more.",
  FullStrength: "No member is missing.",
  ...SHARED_REASONS,
} as const;

/** Every reason that a condition of an EtcdPeer may have. */
export const PEER_REASONS = {
  MemberHealthy: "The member's pod is ready, and the member answers as who it must be.",
  MemberUnreachable:
    "The member's pod is ready, but the member gave the operator no answer, somebody else did, or it has had no leader yet; the message says which.",
  PodPending: "The member's pod does not run or is not ready; the message says why.",
  Asleep:
    "The EtcdCluster sleeps, since its spec.replicas is 0, or is just waking up: the member is stopped, and its data is kept.",
  ClaimLost: "The claim with the member's data is gone; the member is replaced once it is found to be lost.",
  ...SHARED_REASONS,
} as const;

/** Every condition of an EtcdBackup, with the question that it answers. */
export const BACKUP_CONDITION_TYPES = {
  Complete: "Is the object in the store, whole, with its manifest?",
  Failed: "Has the backup ended without an object?",
  Verified:
    "Was an etcd made of the stored object, with the data that the member had? The condition is there once spec.verify asks for that; True and False are for ever.",
  ObjectDeleted:
    "Has the stored object been deleted? The condition is there once the EtcdBackup is being deleted and its objectPolicy is Delete.",
} as const;

/** Every reason that a condition of an EtcdBackup may have. */
export const BACKUP_REASONS = {
  BackingUp: "A snapshot is being taken and stored, or is about to be.",
  Completed: "The object is stored, with its manifest beside it; status.object says what it is.",
  Archiving: "Every change is being stored as it happens; status.archive says how far.",
  ArchiveStalled: "Changes cannot be stored at this moment, and it is tried again; the message says why.",
  Retrying: "An attempt has failed, and another one is made; the message says why.",
  Waiting: SHARED_REASONS.Waiting,
  StepRefused: SHARED_REASONS.StepRefused,
  NameTaken: SHARED_REASONS.NameTaken,
  InternalError: SHARED_REASONS.InternalError,
  SpecRefused: "The spec asks for what cannot be done; the message names the field, what it is and what it may be.",
  ClaimNotAllowed:
    "The claim of spec.destination.volume is not there, or does not say by its label that backups may be stored on it; the message says how.",
  ClusterNotFound: "There is no EtcdCluster of the name that spec.source.clusterName gives.",
  ClusterNotFormed: "The EtcdCluster has not formed yet.",
  NoQuorum: "No majority of the members answers; a snapshot could lack what was acknowledged.",
  PodPending: "The pod does not run; the message says why.",
  PodRefused: "The pod cannot be made, such as for a quota of the namespace; the message has the API server's words.",
  SecretMissing: "A Secret, or a key of it, that the pod needs is not there; the message names it.",
  ImageUnavailable: "The operator's own image, which the pod runs, cannot be had on its node.",
  DeadlineExceeded: "It took longer than spec.activeDeadlineSeconds allows.",
  AgentFailed: "The pod ended without a report; the message says how.",
  SourceUnreachable: "No member answers, or each broke off while it was read.",
  SourceTLS: "etcd's certificate is not trusted, or ours is refused.",
  SourceAuth: "etcd refuses the user, or the user may not take snapshots, which takes the role root.",
  WrongCluster: "Another etcd cluster answers at the endpoints.",
  SnapshotCorrupt: "What arrived is not what etcd's own checksum says, or the members' data is marked corrupt.",
  WrongCredentials: "The store does not know who asks, or the credentials are missing or expired.",
  AccessDenied: "The store knows who asks and does not allow it.",
  NoSuchBucket: "The bucket, container or directory is not there.",
  ObjectExists: "Something that is not of this backup lies where the object is to be; nothing is ever overwritten.",
  AnotherAttempt: "Another attempt at the same backup wrote at the same time; the next one finds what it stored.",
  NoSpace: "The store is full.",
  StoreUnreachable: "The store does not answer.",
  StoreTLS: "The store's certificate is not trusted.",
  BadKey: "The key of the encryption is none, or not the one that is meant.",
  BadTask: "The agent cannot do what it is asked for; the message says why.",
  Stopped: "The pod was told to stop.",
  Internal: "A defect of the agent, or an answer that it does not know.",
  Verifying: "The object is being verified, or is about to be.",
  Verified:
    "The object was fetched, an etcd was made of it, and its data is that of the member; the message says what was compared.",
  VerificationFailed:
    "The etcd that was made of the object has not the data of the member; the message says what differs.",
  RestoreToolFailed: "etcdutl could not make a data directory of the object; the message has its words.",
  NoSuchObject: "The object is not there any more.",
  AuthEnabled: "Users and roles are switched on in the snapshot, so that nobody can ask the etcd that is made of it.",
  DeletingObject: "The stored object is being deleted.",
  ObjectNotDeleted:
    "The stored object could not be deleted; the message says why, and how the EtcdBackup can go without.",
} as const;

/** Every condition of an EtcdBackupSchedule, with the question that it answers. */
export const SCHEDULE_CONDITION_TYPES = {
  Ready: "Is a backup made whenever one is due?",
  BackupReady: "Did the latest run leave a good backup?",
} as const;

/** Every reason that a condition of an EtcdBackupSchedule may have. */
export const SCHEDULE_REASONS = {
  Scheduled: "Backups are made when they are due; the message says when the next one is.",
  Suspended: "By spec.suspend: no backups are made.",
  BackupRunning: "A backup is due, and waits for an earlier one that has not ended.",
  BackupCompleted: "The latest backup that has ended is stored; the message names it.",
  BackupFailed: "The latest backup has failed, or its verification found its data wrong; the message says why.",
  BackupOverdue:
    "No good backup is there of the latest run that should have left one by now, nor a later one: it was deleted, or replaced by the next one, or it does not end.",
  NoBackupYet: "No backup has ended yet.",
  ClusterAsleep:
    "spec.replicas of the EtcdCluster is 0: there is nobody to read. When it is woken, the latest run that was due meanwhile is made up for.",
  RunMissed:
    "A backup was not begun within spec.startingDeadlineSeconds, such as while the operator was away or an earlier one had not ended.",
  ArchivePlaceTaken: "Another EtcdBackup archives changes of the same etcd in the same place; the message names it.",
  SpecRefused: "The spec asks for what cannot be done; the message names the field, what it is and what it may be.",
  StepRefused: SHARED_REASONS.StepRefused,
  NameTaken: SHARED_REASONS.NameTaken,
  InternalError: SHARED_REASONS.InternalError,
} as const;

/** Every condition of an EtcdRestore, with the question that it answers. */
export const RESTORE_CONDITION_TYPES = {
  Complete: "Is the cluster there with the data of the snapshot, and can be read?",
  Failed: "Has the restore ended without a cluster?",
} as const;

/** Every reason that a condition of an EtcdRestore may have. */
export const RESTORE_REASONS = {
  Restoring: "Claims are being filled with the data of the snapshot, or are about to be.",
  StartingCluster: "The claims are filled; the EtcdCluster starts with them, and is waited for until it can be read.",
  Completed: "The EtcdCluster is Ready, and was read at a revision that is not below status.revision.",
  Retrying: "An attempt has failed, and another one is made; the message says why.",
  Waiting: SHARED_REASONS.Waiting,
  StepRefused: SHARED_REASONS.StepRefused,
  NameTaken: SHARED_REASONS.NameTaken,
  InternalError: SHARED_REASONS.InternalError,
  Deleting: "The EtcdRestore is being deleted, before its cluster was there.",
  SpecRefused: "The spec asks for what cannot be done; the message names the field, what it is and what it may be.",
  ClusterExists: "There is an EtcdCluster of that name, with data of its own; nothing is ever restored into it.",
  ClaimExists:
    "There are claims that a cluster of that name has left, or another restore has made; they are never overwritten.",
  ClaimLost: "A claim that was being filled is gone, or is another one now.",
  ClaimNotAllowed:
    "The claim of the source is not there, or does not say by its label that backups are stored on it; the message says how.",
  BackupNotFound:
    "There is no EtcdBackup of the name that spec.source.backupName gives, or it is being deleted, perhaps with its object.",
  BackupNotCompleted: "The EtcdBackup is still under way.",
  BackupFailed: "The EtcdBackup has failed, so there is no object of it; or its verification found its data wrong.",
  PodPending: "A pod does not run; the message says why.",
  PodRefused: "A pod cannot be made, such as for a quota of the namespace; the message has the API server's words.",
  SecretMissing: "A Secret, or a key of it, that the pods need is not there; the message names it.",
  ImageUnavailable: "An image that the pods run cannot be had on its node; the message says which.",
  AgentFailed: "A pod ended without a report; the message says how.",
  RestoreToolFailed: "etcdutl could not make a data directory of the snapshot; the message has its words.",
  NoSuchObject: "There is no object at that key.",
  NoSuchBucket: "The bucket, container or directory is not there.",
  SnapshotCorrupt:
    "The object is not what its manifest or etcd's own checksum says: it is cut off, a byte is another one, or the manifest is that of another object; or it has changed while it was read.",
  BadKey: "The object is encrypted with another key than the one that is given, or it is not encrypted.",
  ArchiveGap:
    "The archive lacks changes that are wanted: it has a gap there, begins later or ends before, or nobody knows when they happened; the message says which.",
  ArchiveCorrupt: "An object of the archive is missing, is not as it was stored, or is none of this cluster's.",
  ReplayDiverged: "The throw-away etcd is not at the revision at which it should be; it is begun anew.",
  AuthEnabled:
    "Users and roles are switched on in the snapshot, and the operator has no user; the message says what to do.",
  NoSpace: "The volumes of the members are too small for the snapshot; the message says how large they must be.",
  DataExists: "A volume holds data that is not of this restore; it is never overwritten.",
  WrongCredentials: "The store does not know who asks, or the credentials are missing or expired.",
  AccessDenied: "The store knows who asks and does not allow it.",
  StoreUnreachable: "The store does not answer.",
  StoreTLS: "The store's certificate is not trusted.",
  BadTask: "The agent cannot do what it is asked for; the message says why.",
  Stopped: "A pod was told to stop.",
  Internal: "A defect of the agent, or an answer that it does not know.",
} as const;

/** Of users and roles in etcd. */
const ACCESS_REASONS = {
  AuthDisabled:
    "All is prepared, and etcd does not ask who somebody is: by spec.auth of the EtcdCluster auth is not enabled, and whoever can connect may read and write everything.",
  NameTaken:
    "Somebody else has what this object would make: the name in etcd, which spec.takeOver would take over, or the Secret of the binding; or an older object has the same name in etcd.",
  ClusterNotFound: "There is no EtcdCluster of the name that spec.clusterName gives.",
  ClusterNotReady: "The EtcdCluster has not formed yet, sleeps, or is being deleted.",
  Paused: "The EtcdCluster is paused: the operator looks and tells, and changes nothing.",
  EtcdUnreachable: "No member could be asked; the message says why.",
  Applying: "Something is being changed; the message says what.",
  StepRefused: SHARED_REASONS.StepRefused,
  Waiting: SHARED_REASONS.Waiting,
  InternalError: SHARED_REASONS.InternalError,
  Deleting: "The object is being deleted, and what it has made in etcd goes first.",
} as const;

/** Every condition of an EtcdRole, with the question that it answers. */
export const ROLE_CONDITION_TYPES = {
  Ready: "Is the role in etcd, with just these permissions?",
} as const;

/** Every reason that a condition of an EtcdRole may have. */
export const ROLE_REASONS = {
  Granted: "The role is in etcd, with just these permissions.",
  ...ACCESS_REASONS,
} as const;

/** Every condition of an EtcdUser, with the question that it answers. */
export const USER_CONDITION_TYPES = {
  Ready: "Is the user in etcd, with just these roles, and does the binding Secret hold what logs in?",
} as const;

/** Every reason that a condition of an EtcdUser may have. */
export const USER_REASONS = {
  Bound: "The user is in etcd, with just these roles, and the binding Secret holds what logs in.",
  RoleMissing: "A role of spec.roles is not in etcd; the message names it. The user has the others.",
  SpecRefused: "The spec asks for what cannot be done; the message names the field, what it is and what it may be.",
  PasswordRefused:
    "etcd does not take the password that somebody has written into the binding Secret; the message says why. The one before stays good.",
  CertificatePending:
    "The certificate of the binding is yet to be made, or has ended and is yet to be renewed; the message says by whom, and what is wrong.",
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
