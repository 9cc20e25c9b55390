import type { Progress } from "#agent/report.ts";
import { DELETE_OBJECT_ANNOTATION, KEEP_OBJECT_ANNOTATION, OBJECT_FINALIZER } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { controllerOf, type Job, type KubeObject, type PersistentVolumeClaim, type Pod } from "#kube/kinds.ts";

/** A Job of the backup, with the pods that it has made. */
export interface Attempted {
  readonly job: Job;
  readonly pods: readonly Pod[];
}

/** All that one decision about an EtcdBackup may use. Built by observe.ts, read-only ever after. */
export interface BackupSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  readonly backup: EtcdBackup;
  /** The EtcdCluster of `spec.source.clusterName`; `undefined` when there is none, or none is named. */
  readonly cluster: EtcdCluster | undefined;
  /** The Job that takes the snapshot; it may be somebody else's that has its name. */
  readonly taking: Attempted | undefined;
  /** The Job that deletes the object. */
  readonly removing: Attempted | undefined;
  /** The Job that verifies the object; it may be somebody else's that has its name. */
  readonly verifying: Attempted | undefined;
  /** Pods of the backup that have not ended and whose Job is gone: they may still store something. */
  readonly orphans: readonly Pod[];
  /** The claim that `spec.destination.volume` names; before a Job is made for it, as the API server has it. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** The EtcdCluster a member of which has, or will have, a claim of that name. */
  readonly namesake: EtcdCluster | undefined;
  /** What Kubernetes warned of, the newest first; asked for only while no pod gets on, else empty. */
  readonly warnings: readonly string[];
  /** How far the agent is, when it could be asked just now. */
  readonly progress: Progress | undefined;
  /** Where images of etcd are, for an etcd whose cluster names no other place: a setting of the operator. */
  readonly imageRepository: string;
  /** The operator's own image, which the agent's pod runs: a setting of the operator. */
  readonly agentImage: string | undefined;
}

/** Whether this very EtcdBackup, not an earlier one of the same name, manages the object. */
export function isOwned({ backup }: BackupSnapshot, object: KubeObject): boolean {
  return controllerOf(object)?.uid === backup.metadata.uid;
}

/** Completed and Failed are for ever. */
export function hasEnded({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.status?.phase === "Completed" || backup.status?.phase === "Failed";
}

export function isDeleting({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.metadata.deletionTimestamp !== undefined;
}

/** Whether the object is to be deleted before the EtcdBackup goes. */
export function isHeld({ backup }: BackupSnapshot): boolean {
  return backup.metadata.finalizers?.includes(OBJECT_FINALIZER) === true;
}

/** Whether it is being deleted, and does not go before its object has. */
export function isLeaving(snapshot: BackupSnapshot): boolean {
  return isDeleting(snapshot) && isHeld(snapshot);
}

/** Whether the object is to go with the EtcdBackup: as it was asked for, or since the retention of its schedule gives it away. */
export function asksForDeletion({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.spec.objectPolicy === "Delete" || backup.metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true";
}

/** Whether a person has said that the object may stay. */
export function mayKeepObject({ backup }: Pick<BackupSnapshot, "backup">): boolean {
  return backup.metadata.annotations?.[KEEP_OBJECT_ANNOTATION] === "true";
}

/** Whether the object is there, is to be verified, and was not yet: what was found is for ever. */
export function isToBeVerified({ backup: { spec, status } }: Pick<BackupSnapshot, "backup">): boolean {
  const verified = status?.conditions?.find(({ type }) => type === "Verified")?.status ?? "Unknown";
  return spec.verify && status?.phase === "Completed" && verified === "Unknown";
}
