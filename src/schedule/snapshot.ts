import { folderOf, placeText } from "#api/backup-folder.ts";
import { defectOf, isToVerify, missingOf } from "#api/defect.ts";
import { SCHEDULE_UID_ANNOTATION } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import { isAsleep, isToSleep } from "#api/sleep.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";

/** Everything that one decision about an EtcdBackupSchedule may use. Built by observe.ts, then read-only. */
export interface ScheduleSnapshot {
  /** Milliseconds since 1970: the only "now" for rules. */
  readonly takenAtMs: number;
  readonly schedule: EtcdBackupSchedule;
  /** The EtcdCluster that is backed up; `undefined` when none is named or it does not exist. */
  readonly cluster: EtcdCluster | undefined;
  /** Its own EtcdBackups by label and uid, oldest first. */
  readonly backups: readonly EtcdBackup[];
  /** EtcdBackup of the latest run, even if its label was removed. */
  readonly lastRun: EtcdBackup | undefined;
  /** EtcdBackup of the run that must be good, likewise. While a run is in progress it is the run before. */
  readonly wantedRun: EtcdBackup | undefined;
  /** EtcdBackups marked by an earlier schedule of the name and not deleted: nothing else removes these marks. */
  readonly left: readonly EtcdBackup[];
  /** Names of its backups that an EtcdRestore still reads or an EtcdCluster will begin with. */
  readonly restoring: ReadonlySet<string>;
  /** The EtcdBackup that archives changes. It is not in `backups`: it has no object and never completes. */
  readonly archive: EtcdBackup | undefined;
  /** Another EtcdBackup that archives to the same place. */
  readonly rival: EtcdBackup | undefined;
  /** A foreign EtcdBackup with the archive's name, for example left by an earlier schedule of the name. */
  readonly archiveNamesake: EtcdBackup | undefined;
  /** The EtcdBackup with the name of the due run; it may be foreign. */
  readonly namesake: EtcdBackup | undefined;
}

/** Whether this EtcdBackupSchedule, by uid, made the backup. */
export function isOwned({ schedule }: Pick<ScheduleSnapshot, "schedule">, backup: EtcdBackup): boolean {
  return scheduleUidOf(backup) === schedule.metadata.uid;
}

/** Uid of the EtcdBackupSchedule that made it. */
export function scheduleUidOf({ metadata }: EtcdBackup): string | undefined {
  return metadata.annotations?.[SCHEDULE_UID_ANNOTATION];
}

export function isDeleting({ metadata }: EtcdBackup | EtcdBackupSchedule): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/**
 * Whether the cluster cannot be read: its members are stopped or stopping, or there are none. A cluster that is
 * prevented from falling asleep still serves.
 */
export function isClusterAsleep({ cluster }: Pick<ScheduleSnapshot, "cluster">): boolean {
  if (cluster === undefined || !isToSleep(cluster)) return false;
  const { identity, conditions } = cluster.status ?? {};
  if (isAsleep(cluster) || identity === undefined) return true;
  const ready = conditions?.find(({ type }) => type === "Ready");
  return ready?.reason === "FallingAsleep" && pausedBy(cluster) === undefined;
}

/** Whether it has not ended and is not being deleted. */
export function isActive(backup: EtcdBackup): boolean {
  const { phase } = backup.status ?? {};
  return phase !== "Completed" && phase !== "Failed" && !isDeleting(backup);
}

/** Whether the restore may still read its EtcdBackup's object: it has not ended, and not all claims are filled. */
export function isReading({ status }: EtcdRestore): boolean {
  return status?.phase !== "Completed" && status?.phase !== "Failed" && status?.begun !== true;
}

/**
 * Name of the EtcdBackup with which the EtcdCluster will begin: while the cluster is paused, sleeps or waits, no
 * EtcdRestore exists.
 */
export function beginningOf({ metadata, spec, status }: EtcdCluster): string | undefined {
  const isOver = metadata.deletionTimestamp !== undefined || status?.identity !== undefined;
  return isOver ? undefined : spec.bootstrap?.fromBackup?.source.backupName;
}

/** Whether its object is stored, is not being deleted, and is not known to be wrong or gone. */
export function isGood(backup: EtcdBackup): boolean {
  return backup.status?.phase === "Completed" && !isDeleting(backup) && !isSpoilt(backup);
}

/** Whether a verification found its object wrong, or the latest check did not find it. */
export function isSpoilt(backup: EtcdBackup): boolean {
  return defectOf(backup) !== undefined || missingOf(backup) !== undefined;
}

/**
 * Whether backup and archive are in the same folder of the same store, as far as known: a restore looks for changes
 * beside its backup.
 */
export function isBeside(backup: EtcdBackup, archive: EtcdBackup | undefined): boolean {
  if (archive === undefined || placeText(backup.spec) !== placeText(archive.spec)) return false;
  const [own, other] = [backup.status?.objectKey, archive.status?.objectKey];
  return own === undefined || other === undefined || folderOf(own) === folderOf(other);
}

/** Whether other backups may be deleted in its favour: it is good, and no verification is pending. */
export function isSettled(backup: EtcdBackup): boolean {
  return isGood(backup) && !(isToVerify(backup) && verifiedIn(backup) === "Unknown");
}

/** Whether the verification of its object succeeded. */
export function isVerified(backup: EtcdBackup): boolean {
  return verifiedIn(backup) === "True";
}

function verifiedIn({ status }: EtcdBackup): "True" | "False" | "Unknown" {
  return status?.conditions?.find(({ type }) => type === "Verified")?.status ?? "Unknown";
}

/** How far a time may lie ahead, in milliseconds: clocks of two machines differ, and users set them back by hours. */
export const AHEAD_MS = 24 * 3_600_000;

/** Cache by metadata object: every observation asks for thousands of backups. */
const MADE_AT = new WeakMap<object, number>();

/** Creation time in milliseconds since 1970, by the API server's clock. */
export function madeAtMs({ metadata }: EtcdBackup | EtcdBackupSchedule): number {
  const madeAt = MADE_AT.get(metadata) ?? Date.parse(metadata.creationTimestamp ?? "");
  MADE_AT.set(metadata, madeAt);
  return madeAt;
}

/** Sorts backups of one etcd by revision, which no wrong clock affects. */
export function byRevision(a: EtcdBackup, b: EtcdBackup): number {
  const [older, newer] = [revisionOf(a), revisionOf(b)];
  if (older !== newer) return older < newer ? -1 : 1;
  return byAge(a, b);
}

/** Revision up to which the backup is complete; 0 when unknown. */
export function revisionOf({ status }: EtcdBackup): bigint {
  return revisionIn(status?.object?.revision) ?? 0n;
}

/** Parses a revision in a status; `undefined` when it is invalid, since users can write statuses. */
export function revisionIn(text = ""): bigint | undefined {
  return /^\d+$/.test(text) ? BigInt(text) : undefined;
}

/** Sorts by creation; of the same second, the earlier due time comes first. */
export function byAge(a: EtcdBackup, b: EtcdBackup): number {
  return madeAtMs(a) - madeAtMs(b) || a.metadata.name.localeCompare(b.metadata.name);
}

/** Cluster ID of its etcd, if known: a cluster created again under the same name has another ID. */
export function etcdOf({ status }: EtcdBackup): string {
  return status?.object?.clusterID ?? "";
}
