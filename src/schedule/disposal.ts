import { DELETE_OBJECT_ANNOTATION, OBJECT_FINALIZER } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupScheduleSpec } from "#api/v1beta1/schedule.ts";
import { keptOf } from "#schedule/retention.ts";
import { byAge, etcdOf, isDeleting, isSettled, madeAtMs, type ScheduleSnapshot } from "#schedule/snapshot.ts";

/** An EtcdBackup that is not kept any more. */
export interface Disposal {
  readonly backup: EtcdBackup;
  /** Whether its object goes with it, whatever its objectPolicy says. */
  readonly isWithObject: boolean;
  /** The latest good backup of the same etcd, for which this one may go; `undefined` for a backup that has failed. */
  readonly keeper: EtcdBackup | undefined;
  readonly because: string;
}

/** By snapshot: several rules ask, and time zones take their time. */
const DISPOSALS = new WeakMap<ScheduleSnapshot, readonly Disposal[]>();

/** What is not kept, the oldest first. */
export function disposalsIn(snapshot: ScheduleSnapshot): readonly Disposal[] {
  const disposals = DISPOSALS.get(snapshot) ?? disposalsOf(snapshot.schedule.spec, snapshot.backups);
  DISPOSALS.set(snapshot, disposals);
  return disposals;
}

/** What the spec does not keep, the oldest first. */
export function disposalsOf(spec: EtcdBackupScheduleSpec, backups: readonly EtcdBackup[]): readonly Disposal[] {
  const all = [...failedOnes(spec, backups), ...completedOnes(spec, backups)];
  return all.toSorted((a, b) => byAge(a.backup, b.backup));
}

function failedOnes({ failedBackupsHistoryLimit: limit }: EtcdBackupScheduleSpec, backups: readonly EtcdBackup[]) {
  const failed = backups.filter((backup) => backup.status?.phase === "Failed" && !isDeleting(backup));
  const because = `it has failed, and spec.failedBackupsHistoryLimit is ${limit}`;
  const kept = limit === 0 ? [] : failed.toSorted(byAge).slice(-limit);
  const gone = failed.filter((backup) => !kept.includes(backup));
  return gone.map((backup): Disposal => ({ backup, isWithObject: false, keeper: undefined, because }));
}

function completedOnes(spec: EtcdBackupScheduleSpec, backups: readonly EtcdBackup[]): readonly Disposal[] {
  const { retention, successfulBackupsHistoryLimit: limit, timeZone } = spec;
  const rules = retention ?? (limit === undefined ? undefined : { keepLast: limit });
  if (rules === undefined) return [];
  const good = backups.filter(isSettled);
  const stored = good.map((backup) => ({
    name: backup.metadata.name,
    atMs: madeAtMs(backup),
    etcd: etcdOf(backup),
  }));
  const kept = keptOf(stored, rules, timeZone);
  const because =
    retention === undefined
      ? `spec.successfulBackupsHistoryLimit is ${limit}`
      : "none of the rules of spec.retention keeps it";
  return good
    .filter(({ metadata }) => !kept.has(metadata.name))
    .map((backup) => ({ backup, isWithObject: retention !== undefined, keeper: latestLike(backup, good), because }));
}

/** The latest of the same etcd. */
export function latestLike(backup: EtcdBackup, good: readonly EtcdBackup[]): EtcdBackup | undefined {
  const alike = good.filter((each) => etcdOf(each) === etcdOf(backup));
  return alike.toSorted(byAge).at(-1);
}

/** Whether its object goes when the EtcdBackup is deleted. */
export function isObjectGoing({ metadata, spec }: EtcdBackup): boolean {
  const isHeld = metadata.finalizers?.includes(OBJECT_FINALIZER) === true;
  return isHeld && (spec.objectPolicy === "Delete" || metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true");
}
