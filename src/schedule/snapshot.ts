import { folderOf, placeText } from "#api/backup-folder.ts";
import { defectOf } from "#api/defect.ts";
import { SCHEDULE_UID_ANNOTATION } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import { isAsleep, isToSleep } from "#api/sleep.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";

/** All that one decision about an EtcdBackupSchedule may use. Built by observe.ts, read-only ever after. */
export interface ScheduleSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  readonly schedule: EtcdBackupSchedule;
  /** Which is backed up; `undefined` when it is none of ours, or not there. */
  readonly cluster: EtcdCluster | undefined;
  /** Its own EtcdBackups, in the order of their creation: by label and uid. */
  readonly backups: readonly EtcdBackup[];
  /** The EtcdBackup of its latest run, also when its label was taken away. */
  readonly lastRun: EtcdBackup | undefined;
  /** That of the run of which there must be a good one by now, likewise: of the one before, while a run is under way. */
  readonly wantedRun: EtcdBackup | undefined;
  /** Those that an earlier schedule of the name has marked and not deleted: nobody else takes the marks back. */
  readonly left: readonly EtcdBackup[];
  /** Names of its own from which an EtcdRestore is to be filled, or an EtcdCluster is to begin, and has yet to. */
  readonly restoring: ReadonlySet<string>;
  /** The EtcdBackup that archives changes for it. It is none of `backups`: it has no object, and never completes. */
  readonly archive: EtcdBackup | undefined;
  /** Another EtcdBackup that archives changes where this schedule wants them. */
  readonly rival: EtcdBackup | undefined;
  /** Who has the name of that one, and is not its own: an earlier schedule of the name may have left it. */
  readonly archiveNamesake: EtcdBackup | undefined;
  /** Who has the name of the backup that is due; it may be somebody else's. */
  readonly namesake: EtcdBackup | undefined;
}

/** Whether this very EtcdBackupSchedule, not an earlier one of the same name, has made the backup. */
export function isOwned({ schedule }: Pick<ScheduleSnapshot, "schedule">, backup: EtcdBackup): boolean {
  return scheduleUidOf(backup) === schedule.metadata.uid;
}

/** Of the EtcdBackupSchedule that has made it. */
export function scheduleUidOf({ metadata }: EtcdBackup): string | undefined {
  return metadata.annotations?.[SCHEDULE_UID_ANNOTATION];
}

export function isDeleting({ metadata }: EtcdBackup | EtcdBackupSchedule): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Whether nobody can be read: members are stopped, or are about to be, or there are none. Who is to sleep, and is kept from it, goes on to serve. */
export function isClusterAsleep({ cluster }: Pick<ScheduleSnapshot, "cluster">): boolean {
  if (cluster === undefined || !isToSleep(cluster)) return false;
  const { identity, conditions } = cluster.status ?? {};
  if (isAsleep(cluster) || identity === undefined) return true;
  const ready = conditions?.find(({ type }) => type === "Ready");
  return ready?.reason === "FallingAsleep" && pausedBy(cluster) === undefined;
}

/** Whether it has not ended, and may go on. */
export function isActive(backup: EtcdBackup): boolean {
  const { phase } = backup.status ?? {};
  return phase !== "Completed" && phase !== "Failed" && !isDeleting(backup);
}

/** Whether it may yet read the object of the EtcdBackup that it names: it has not ended, and its claims are not all filled. */
export function isReading({ status }: EtcdRestore): boolean {
  return status?.phase !== "Completed" && status?.phase !== "Failed" && status?.begun !== true;
}

/** With which EtcdBackup the EtcdCluster is yet to begin: while it is paused, sleeps or has to wait, no EtcdRestore tells of that. */
export function beginningOf({ metadata, spec, status }: EtcdCluster): string | undefined {
  const isOver = metadata.deletionTimestamp !== undefined || status?.identity !== undefined;
  return isOver ? undefined : spec.bootstrap?.fromBackup.backupName;
}

/** Whether its object is stored, stays so far, and was not found wrong. */
export function isGood(backup: EtcdBackup): boolean {
  return backup.status?.phase === "Completed" && !isDeleting(backup) && defectOf(backup) === undefined;
}

/** Whether both lie in one folder of one store, as far as is known: a restore looks for changes in that of its backup. */
export function isBeside(backup: EtcdBackup, archive: EtcdBackup | undefined): boolean {
  if (archive === undefined || placeText(backup.spec) !== placeText(archive.spec)) return false;
  const [own, other] = [backup.status?.objectKey, archive.status?.objectKey];
  return own === undefined || other === undefined || folderOf(own) === folderOf(other);
}

/** Whether others may go for its sake: it is good, and no verdict on it is open. */
export function isSettled(backup: EtcdBackup): boolean {
  const verified = backup.status?.conditions?.find(({ type }) => type === "Verified")?.status ?? "Unknown";
  return isGood(backup) && !(backup.spec.verify && verified === "Unknown");
}

/** It lies this much ahead at most, in milliseconds: clocks of two machines differ, and people set them back by hours. */
export const AHEAD_MS = 24 * 3_600_000;

/** By their metadata: there are thousands of backups, and every look asks. */
const MADE_AT = new WeakMap<object, number>();

/** When the backup was made, in milliseconds since 1970, by the API server's clock. */
export function madeAtMs({ metadata }: EtcdBackup | EtcdBackupSchedule): number {
  const madeAt = MADE_AT.get(metadata) ?? Date.parse(metadata.creationTimestamp ?? "");
  MADE_AT.set(metadata, madeAt);
  return madeAt;
}

/** For sorting backups of one etcd: it counts its revisions itself, and no clock that is wrong changes that. */
export function byRevision(a: EtcdBackup, b: EtcdBackup): number {
  const [older, newer] = [revisionOf(a), revisionOf(b)];
  if (older !== newer) return older < newer ? -1 : 1;
  return byAge(a, b);
}

/** Up to which revision of its etcd it holds everything; 0 when that is not known. */
export function revisionOf({ status }: EtcdBackup): bigint {
  return revisionIn(status?.object?.revision) ?? 0n;
}

/** What a status tells of a revision; `undefined` when it is none: whoever may write a status may write anything. */
export function revisionIn(text = ""): bigint | undefined {
  return /^\d+$/.test(text) ? BigInt(text) : undefined;
}

/** For sorting: who was made earlier comes first, and of two of one second who was due earlier. */
export function byAge(a: EtcdBackup, b: EtcdBackup): number {
  return madeAtMs(a) - madeAtMs(b) || a.metadata.name.localeCompare(b.metadata.name);
}

/** Of which etcd it is, as far as is known: one that was made anew under the same name has another ID. */
export function etcdOf({ status }: EtcdBackup): string {
  return status?.object?.clusterID ?? "";
}
