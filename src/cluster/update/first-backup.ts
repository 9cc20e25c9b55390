import { defectOf } from "#api/defect.ts";
import { FIRST_BACKUP_ANNOTATION, firstBackupName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { waiversIn } from "#api/waivers.ts";
import { isSameData } from "#base/hash.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isRelease, minorOf } from "#etcd/version.ts";

// The backup before the first update to a newer minor release:
// - Why: the previous release may not be able to read the data any more, and a downgrade takes time. Where an
//   EtcdBackupSchedule names a destination, a recent backup is made first.
// - Which one counts: a completed EtcdBackup of this cluster (by uid) and this release (by name) that is not older than
//   an hour. With OnDelete any age counts, because people may restart members months after the edit.
// - No duplicates: backups are numbered, and the next number is the highest existing one plus one. After a crash the
//   written one is found. None is made while an earlier one is active.

/** The check that people may waive; see api/waivers.ts. */
const CHECK = "BackupFirst";
/**
 * How old the stored backup may be when the first member is updated, in milliseconds: a guess at the most that a
 * restore may lose. Smaller: a large database is backed up repeatedly while members wait. Larger: more is lost.
 */
const FRESH_MS = 3_600_000;

/** The name of the next backup before the members of this cluster go to the release of its spec. */
export function nameOfFirstBackup({ cluster, sourceBackups }: ClusterSnapshot): string {
  const numbers = sourceBackups.map(({ metadata }) => numberOf(cluster, metadata.name) ?? 0);
  return nameOf(cluster, Math.max(0, ...numbers) + 1);
}

function nameOf({ metadata, spec }: EtcdCluster, number: number): string {
  const minor = isRelease(spec.version) ? minorOf(spec.version) : "none"; // no member can move to it
  return firstBackupName(metadata.name, minor, number);
}

/** @returns `undefined` for a name that no backup before this release has */
function numberOf(cluster: EtcdCluster, name: string): number | undefined {
  const number = Number(/-(\d{1,6})$/.exec(name)?.[1]);
  return nameOf(cluster, number) === name ? number : undefined;
}

/** The backups before this release, the oldest first, without those that are being deleted. */
export function firstBackupsOf(snapshot: ClusterSnapshot): readonly EtcdBackup[] {
  const { cluster } = snapshot;
  const number = ({ metadata }: EtcdBackup) => numberOf(cluster, metadata.name) ?? 0;
  return ownOnes(snapshot)
    .filter((backup) => number(backup) > 0)
    .toSorted((a, b) => number(a) - number(b));
}

/** A backup before any release that is still active: no other one is started. */
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

/** Whether the backup cannot be restored: it failed, or verification found a difference. */
export function hasFailed(backup: EtcdBackup): boolean {
  return backup.status?.phase === "Failed" || defectOf(backup) !== undefined;
}

/**
 * The schedules with a template that may be used, those with good backups first. Empty when no backup is needed: every
 * schedule is suspended, or the check is waived.
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
    .toSorted(by("BackupReady")); // a stable sort: equals stay in the order of their names
}

function isTrue({ status }: EtcdBackupSchedule, condition: string): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === condition && is === "True") === true;
}

/**
 * The schedule for the next attempt; `undefined` when a backup has failed with each template. Editing a template allows
 * a new attempt.
 */
export function nextSchedule(snapshot: ClusterSnapshot): EtcdBackupSchedule | undefined {
  const failed = firstBackupsOf(snapshot).filter(hasFailed);
  return schedulesOfFirstBackup(snapshot).find(
    ({ spec }) => !failed.some((backup) => isSameData(backup.spec, spec.backupTemplate.spec)),
  );
}

/** Whether a person has to act: a backup has failed with each schedule's template, and none is active. */
export function haveAllFailed(snapshot: ClusterSnapshot): boolean {
  return activeFirstBackup(snapshot) === undefined && nextSchedule(snapshot) === undefined;
}

/**
 * Why no member may get a newer minor release yet: no recent backup is stored. A clause, or `undefined` when none is
 * needed.
 */
export function whyNotBackedUp(snapshot: ClusterSnapshot): string | undefined {
  if (schedulesOfFirstBackup(snapshot).length === 0) return undefined;
  const isStored = firstBackupsOf(snapshot).some((backup) => counts(snapshot, backup));
  return isStored ? undefined : "no recent EtcdBackup is stored";
}

function counts({ cluster, takenAtMs }: ClusterSnapshot, backup: EtcdBackup): boolean {
  const { phase, completionTime = backup.metadata.creationTimestamp ?? "" } = backup.status ?? {};
  if (phase !== "Completed" || hasFailed(backup)) return false;
  return cluster.spec.updateStrategy.type === "OnDelete" || takenAtMs - Date.parse(completionTime) <= FRESH_MS;
}
