import { DELETE_OBJECT_ANNOTATION, OBJECT_FINALIZER } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupScheduleSpec } from "#api/v1beta1/schedule.ts";
import { keptOf } from "#schedule/retention.ts";
import {
  AHEAD_MS,
  byAge,
  byRevision,
  etcdOf,
  isDeleting,
  isSettled,
  isVerified,
  madeAtMs,
  revisionOf,
  type ScheduleSnapshot,
} from "#schedule/snapshot.ts";

/** An EtcdBackup that is no longer kept. */
export interface Disposal {
  readonly backup: EtcdBackup;
  /** True: the stored object is deleted, too, whatever deletionPolicy is. False: deletionPolicy decides. */
  readonly isWithObject: boolean;
  /**
   * The latest good backups of the same etcd that allow this deletion, see `keepersByEtcd`; none for a failed backup.
   */
  readonly keepers: readonly EtcdBackup[];
  readonly because: string;
}

/** Cache by snapshot: several rules need the disposals, and time zones are slow to compute. */
const DISPOSALS = new WeakMap<ScheduleSnapshot, readonly Disposal[]>();

/** Backups that are not kept, oldest first. */
export function disposalsIn(snapshot: ScheduleSnapshot): readonly Disposal[] {
  const disposals = DISPOSALS.get(snapshot) ?? disposalsOf(snapshot.schedule.spec, snapshot);
  DISPOSALS.set(snapshot, disposals);
  return disposals;
}

/** Backups that this spec would not keep, oldest first. A backup that a restore still reads is kept. */
export function disposalsOf(
  spec: EtcdBackupScheduleSpec,
  { backups, takenAtMs, restoring }: Pick<ScheduleSnapshot, "backups" | "takenAtMs" | "restoring">,
): readonly Disposal[] {
  const all = [...failedOnes(spec, backups), ...completedOnes(spec, countedIn({ backups, takenAtMs }))];
  const free = all.filter(({ backup }) => !restoring.has(backup.metadata.name));
  return free.toSorted((a, b) => byAge(a.backup, b.backup));
}

function failedOnes({ failedBackupsHistoryLimit: limit }: EtcdBackupScheduleSpec, backups: readonly EtcdBackup[]) {
  const failed = backups.filter((backup) => backup.status?.phase === "Failed" && !isDeleting(backup));
  const because = `it has failed, and spec.failedBackupsHistoryLimit is ${limit}`;
  const gone = failed.toSorted(byAge).slice(0, Math.max(0, failed.length - limit));
  return gone.map((backup): Disposal => ({ backup, isWithObject: false, keepers: [], because }));
}

/**
 * Settled backups for the retention. A backup dated far ahead was made by a wrong clock: it is kept, and does not count
 * for ages and days.
 */
export function countedIn({ backups, takenAtMs }: Pick<ScheduleSnapshot, "backups" | "takenAtMs">) {
  return backups.filter((backup) => isSettled(backup) && madeAtMs(backup) <= takenAtMs + AHEAD_MS);
}

function completedOnes(spec: EtcdBackupScheduleSpec, good: readonly EtcdBackup[]): readonly Disposal[] {
  const { retention, successfulBackupsHistoryLimit: limit, timeZone, archive } = spec;
  const rules = retention ?? (limit === undefined ? undefined : { keepLast: limit });
  if (rules === undefined) return [];
  const keepers = keepersByEtcd(good);
  const stored = good.map((backup) => ({
    name: backup.metadata.name,
    atMs: madeAtMs(backup),
    etcd: etcdOf(backup),
    revision: revisionOf(backup),
    isVerified: isVerified(backup),
  }));
  const kept = keptOf(stored, { ...rules, ...(archive && { archiveFor: archive.keepFor }) }, timeZone);
  const because =
    retention === undefined ? `spec.successfulBackupsHistoryLimit is ${limit}` : "no rule of spec.retention keeps it";
  return good
    .filter(({ metadata }) => !kept.has(metadata.name))
    .map((backup) => {
      const isWithObject = retention !== undefined;
      return { backup, isWithObject, keepers: keepers.get(etcdOf(backup)) ?? [], because };
    });
}

/**
 * The latest backup of each etcd, by cluster ID, in one pass over possibly thousands. @param order the later of two
 * backups sorts last
 */
export function latestByEtcd(backups: readonly EtcdBackup[], order = byRevision): ReadonlyMap<string, EtcdBackup> {
  const latest = new Map<string, EtcdBackup>();
  for (const backup of backups) {
    const etcd = etcdOf(backup);
    const other = latest.get(etcd);
    if (other === undefined || order(other, backup) < 0) latest.set(etcd, backup);
  }
  return latest;
}

/**
 * Backups that nothing replaces, by cluster ID: the latest and the latest verified, by revision and by time. Revision
 * and time differ when a clock was set back, or etcd was restored to an earlier state.
 */
export function keepersByEtcd(backups: readonly EtcdBackup[]): ReadonlyMap<string, readonly EtcdBackup[]> {
  const all = [backups, backups.filter(isVerified)].flatMap((some) => [
    ...latestByEtcd(some).values(),
    ...latestByEtcd(some, byAge).values(),
  ]);
  return Map.groupBy(new Set(all), etcdOf);
}

/** Whether the retention has marked its object for deletion. */
export function isMarked(backup: EtcdBackup): boolean {
  const isGiven = backup.metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true";
  return isGiven && isObjectGoing(backup);
}

/** Whether its object is deleted with the EtcdBackup. */
export function isObjectGoing({ metadata, spec }: EtcdBackup): boolean {
  const isHeld = metadata.finalizers?.includes(OBJECT_FINALIZER) === true;
  return isHeld && (spec.deletionPolicy === "Delete" || metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true");
}
