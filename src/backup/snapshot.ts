import type { Progress } from "#agent/report.ts";
import type { Attempted } from "#agent-job/job-state.ts";
import { isToVerify } from "#api/defect.ts";
import { DELETE_OBJECT_ANNOTATION, KEEP_OBJECT_ANNOTATION, OBJECT_FINALIZER } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Running } from "#backup/running.ts";
import { controllerOf, type KubeObject, type PersistentVolumeClaim, type Pod } from "#kube/kinds.ts";

/** Everything that one decision about an EtcdBackup may use. Built by observe.ts, then read-only. */
export interface BackupSnapshot {
  /** Milliseconds since 1970: the only "now" for rules. */
  readonly takenAtMs: number;
  readonly backup: EtcdBackup;
  /** The EtcdCluster of `spec.source.cluster`; `undefined` when it does not exist or none is named. */
  readonly cluster: EtcdCluster | undefined;
  /** The Job that takes the snapshot; a foreign Job may have its name. */
  readonly taking: Attempted | undefined;
  /** The Job that deletes the object. */
  readonly removing: Attempted | undefined;
  /** The Job that verifies the object; a foreign Job may have its name. */
  readonly verifying: Attempted | undefined;
  /** The Job that checks whether the object is still stored; a foreign Job may have its name. */
  readonly checking: Attempted | undefined;
  /** Whether it is one of the two newest Completed EtcdBackups of its schedule. */
  readonly isNewest: boolean;
  /** Running pods of the backup without their Job: they may still store something. */
  readonly orphans: readonly Pod[];
  /** The claim of `spec.destination.volume`. Read from the API server before a Job is created for it. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** The EtcdCluster with a member that has, or will have, a claim of that name. */
  readonly namesake: EtcdCluster | undefined;
  /** Kubernetes' warnings, newest first; read only while no pod runs, else empty. */
  readonly warnings: readonly string[];
  /** Progress of the agent, if it answered recently. */
  readonly progress: Progress | undefined;
  /** Repository of etcd's images, for a cluster that names none (a flag of the operator). */
  readonly imageRepository: string;
  /** The operator's own image (--agent-image), which the agent's pod runs. */
  readonly agentImage: string | undefined;
  /** Number of running backups. Undefined when neither this EtcdBackup nor its check is to start, and for an archive. */
  readonly running: Running | undefined;
}

/** Whether this EtcdBackup, by uid, is the object's controller. */
export function isOwned({ backup }: BackupSnapshot, object: KubeObject): boolean {
  return controllerOf(object)?.uid === backup.metadata.uid;
}

/** The attempt, if its Job is this EtcdBackup's. */
export function ownOf(snapshot: BackupSnapshot, attempt: Attempted | undefined): Attempted | undefined {
  return attempt !== undefined && isOwned(snapshot, attempt.job) ? attempt : undefined;
}

/** Completed and Failed are final. */
export function hasEnded({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.status?.phase === "Completed" || backup.status?.phase === "Failed";
}

export function isDeleting({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.metadata.deletionTimestamp !== undefined;
}

/** Whether the finalizer is set that keeps the EtcdBackup until its object is deleted. */
export function isHeld({ backup }: BackupSnapshot): boolean {
  return backup.metadata.finalizers?.includes(OBJECT_FINALIZER) === true;
}

/** Whether the EtcdBackup is being deleted and waits for the deletion of its object. */
export function isLeaving(snapshot: BackupSnapshot): boolean {
  return isDeleting(snapshot) && isHeld(snapshot);
}

/** Whether the object must be deleted with the EtcdBackup: by its policy, or by the retention of its schedule. */
export function asksForDeletion({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.spec.deletionPolicy === "Delete" || backup.metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true";
}

/** Whether a user has annotated the EtcdBackup to keep its object. */
export function mayKeepObject({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.metadata.annotations?.[KEEP_OBJECT_ANNOTATION] === "true";
}

/** Whether --running-backups limits this EtcdBackup. It does not limit archives, which run for years. */
export function awaitsTurn({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.spec.archive === undefined;
}

/** Whether the object exists, spec.verification.mode is Restore, and it was not verified yet: the result is final. */
export function isToBeVerified({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  const { status } = backup;
  const verified = status?.conditions?.find(({ type }) => type === "Verified")?.status ?? "Unknown";
  return isToVerify(backup) && status?.phase === "Completed" && verified === "Unknown";
}
