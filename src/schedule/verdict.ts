import type { ScheduleReason } from "#api/conditions.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { latestByEtcd } from "#schedule/disposal.ts";
import { calendarFor, runsOf } from "#schedule/runs.ts";
import { byAge, defectOf, isActive, isGood, type ScheduleSnapshot } from "#schedule/snapshot.ts";

/** An answer to the question of a condition. */
export interface Word {
  readonly isTrue: boolean;
  readonly reason: ScheduleReason;
  readonly message: string;
}

/** Is a backup made whenever one is due? */
export function readyWord(snapshot: ScheduleSnapshot): Word {
  const calendar = calendarFor(snapshot);
  if (typeof calendar === "string") return { isTrue: false, reason: "SpecRefused", message: calendar };
  if (snapshot.schedule.spec.suspend)
    return { isTrue: false, reason: "Suspended", message: "spec.suspend is true: no backups are made" };
  const { dueMs, nextMs } = runsOf(snapshot);
  const active = snapshot.backups.find(isActive);
  if (dueMs !== undefined && active !== undefined) {
    const message = `a backup was due at ${rfc3339(dueMs)}, and EtcdBackup ${active.metadata.name} has not ended`;
    return { isTrue: true, reason: "BackupRunning", message };
  }
  const message =
    nextMs === undefined ? "the first due time is being counted" : `the next backup is due at ${rfc3339(nextMs)}`;
  return { isTrue: true, reason: "Scheduled", message };
}

/** Did the latest run leave a good backup? What is on record of one that is gone by now is not asked. */
export function backupReadyWord(snapshot: ScheduleSnapshot): Word {
  const { missedMs } = runsOf(snapshot);
  if (missedMs !== undefined) {
    const { startingDeadlineSeconds } = snapshot.schedule.spec;
    const message = `the backup that was due at ${rfc3339(missedMs)} was not begun within ${startingDeadlineSeconds} s`;
    return { isTrue: false, reason: "RunMissed", message };
  }
  const hasEnded = (backup: EtcdBackup) =>
    isGood(backup) || backup.status?.phase === "Failed" || defectOf(backup) !== undefined;
  const latest = latestOf(snapshot.backups.filter(hasEnded));
  if (latest === undefined) return { isTrue: false, reason: "NoBackupYet", message: "no backup has ended yet" };
  const { name } = latest.metadata;
  if (isGood(latest))
    return {
      isTrue: true,
      reason: "BackupCompleted",
      message: `EtcdBackup ${name} is stored as ${latest.status?.objectURL}`,
    };
  const defect = defectOf(latest);
  const why = defect ?? latest.status?.conditions?.find(({ type }) => type === "Failed");
  const what = defect === undefined ? "has failed" : "was stored, and its verification found it wrong";
  return {
    isTrue: false,
    reason: "BackupFailed",
    message: `EtcdBackup ${name} ${what}: ${why?.reason}: ${why?.message}`,
  };
}

/** Who was made last: the latest of each etcd is known by its revision, and of these the one that was made last by the clock. */
export function latestOf(backups: readonly EtcdBackup[]): EtcdBackup | undefined {
  return [...latestByEtcd(backups).values()].toSorted(byAge).at(-1);
}
