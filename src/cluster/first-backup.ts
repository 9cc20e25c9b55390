import { defectOf } from "#api/defect.ts";
import { FIRST_BACKUP_ANNOTATION, firstBackupName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { waiversIn } from "#api/waivers.ts";
import { isSameData } from "#base/hash.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isRelease, minorOf } from "#etcd/version.ts";

// Why is a backup made before members go to a newer minor release?
//   Its data may not be read by the one before any more, and the way back is etcd's own, which takes its time. Whoever has said by a schedule
//   where backups go wants one of the moment before.
// Which backup counts?
//   One of this very cluster, by uid, before this very release, by name, that is stored, stays, and is fresh: an upgrade that waits for long, or
//   is tried again months later, gets another one. With OnDelete people choose the moment, which may be months later: then it is of the edit.
// How is none made twice?
//   They are numbered, and the next number is one more than the highest that is there: whoever dies after the write finds it. None is made while
//   an earlier one goes on.

/** The check that people may waive; see api/waivers.ts. */
const CHECK = "backup-first";
/**
 * How old the stored backup may be when the first member goes, in milliseconds. An hour is a guess: as much as is lost at most on the way back.
 * Too small, and a large database has more backups made while members wait for something else; too large, and it is not of the moment before.
 */
const FRESH_MS = 3_600_000;

/** The name of the next backup before the members of this cluster go to the release of its spec. */
export function nameOfFirstBackup({ cluster, sourceBackups }: ClusterSnapshot): string {
  const numbers = sourceBackups.map(({ metadata }) => numberOf(cluster, metadata.name) ?? 0);
  return nameOf(cluster, Math.max(0, ...numbers) + 1);
}

function nameOf({ metadata, spec }: EtcdCluster, number: number): string {
  const minor = isRelease(spec.version) ? minorOf(spec.version) : "none"; // then nobody goes there
  return firstBackupName(metadata.name, minor, number);
}

/** @returns `undefined` for a name that none before this release has */
function numberOf(cluster: EtcdCluster, name: string): number | undefined {
  const number = Number(/-(\d{1,6})$/.exec(name)?.[1]);
  return nameOf(cluster, number) === name ? number : undefined;
}

/** Those before the members of this very cluster go to the release of its spec, the oldest first. Who is being deleted is not among them. */
export function firstBackupsOf(snapshot: ClusterSnapshot): readonly EtcdBackup[] {
  const { cluster } = snapshot;
  const number = ({ metadata }: EtcdBackup) => numberOf(cluster, metadata.name) ?? 0;
  return ownOnes(snapshot)
    .filter((backup) => number(backup) > 0)
    .toSorted((a, b) => number(a) - number(b));
}

/** The one that has not ended, before whichever release: while it goes on, none is begun. */
export function activeFirstBackup(snapshot: ClusterSnapshot): EtcdBackup | undefined {
  return ownOnes(snapshot).find(({ status }) => status?.phase !== "Completed" && status?.phase !== "Failed");
}

function ownOnes({ cluster, sourceBackups }: ClusterSnapshot): readonly EtcdBackup[] {
  return sourceBackups.filter(
    ({ metadata }) =>
      metadata.annotations?.[FIRST_BACKUP_ANNOTATION] === cluster.metadata.uid &&
      metadata.deletionTimestamp === undefined,
  );
}

/** Whether it left nothing that could be restored: it has failed, or its data was found to differ from the member's. */
export function hasFailed(backup: EtcdBackup): boolean {
  return backup.status?.phase === "Failed" || defectOf(backup) !== undefined;
}

/**
 * The schedules that may say how, those that have left good backups first; none when no backup is asked for: there is no schedule that goes on,
 * or a person has waived it.
 */
export function schedulesOfFirstBackup({
  cluster,
  schedules,
  takenAtMs,
}: ClusterSnapshot): readonly EtcdBackupSchedule[] {
  const isWaived = waiversIn(cluster, takenAtMs).waivers.some(
    ({ check, untilMs }) => check === CHECK && untilMs > takenAtMs,
  );
  if (isWaived) return [];
  const by = (type: string) => (a: EtcdBackupSchedule, b: EtcdBackupSchedule) =>
    Number(isTrue(b, type)) - Number(isTrue(a, type));
  return schedules
    .filter(({ metadata, spec }) => !spec.suspend && metadata.deletionTimestamp === undefined)
    .toSorted(by("Ready"))
    .toSorted(by("BackupReady")); // It is stable, and they come in the order of their names.
}

function isTrue({ status }: EtcdBackupSchedule, condition: string): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === condition && is === "True") === true;
}

/** The schedule by which the next one is made; `undefined` when by each of them one has failed. An edit of its template makes it another one. */
export function nextSchedule(snapshot: ClusterSnapshot): EtcdBackupSchedule | undefined {
  const failed = firstBackupsOf(snapshot).filter(hasFailed);
  return schedulesOfFirstBackup(snapshot).find(
    ({ spec }) => !failed.some((backup) => isSameData(backup.spec, spec.backupTemplate)),
  );
}

/** Whether the one that is missing cannot come by itself: by each schedule one has failed, and none goes on. */
export function haveAllFailed(snapshot: ClusterSnapshot): boolean {
  return activeFirstBackup(snapshot) === undefined && nextSchedule(snapshot) === undefined;
}

/** Why nobody goes to a newer minor release yet, as a clause: the backup before is not stored. `undefined` when nobody has to wait for one. */
export function whyNotBackedUp(snapshot: ClusterSnapshot): string | undefined {
  if (schedulesOfFirstBackup(snapshot).length === 0) return undefined;
  const isStored = firstBackupsOf(snapshot).some((backup) => counts(snapshot, backup));
  return isStored ? undefined : "no EtcdBackup of the moment before is stored";
}

function counts({ cluster, takenAtMs }: ClusterSnapshot, backup: EtcdBackup): boolean {
  const { phase, completionTime = backup.metadata.creationTimestamp ?? "" } = backup.status ?? {};
  if (phase !== "Completed" || hasFailed(backup)) return false;
  return cluster.spec.updateStrategy.type === "OnDelete" || takenAtMs - Date.parse(completionTime) <= FRESH_MS;
}
