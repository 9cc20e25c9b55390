import type { ScheduleReason } from "#api/conditions.ts";
import { defectOf } from "#api/defect.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { latestByEtcd } from "#schedule/disposal.ts";
import { calendarFor, runsOf, type Seen } from "#schedule/runs.ts";
import {
  AHEAD_MS,
  byAge,
  isActive,
  isClusterAsleep,
  isGood,
  madeAtMs,
  type ScheduleSnapshot,
} from "#schedule/snapshot.ts";

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
  const { dueMs, heldMs, nextMs } = runsOf(snapshot);
  if (isClusterAsleep(snapshot)) {
    const held = heldMs === undefined ? "" : `; the one that was due at ${rfc3339(heldMs)} waits`;
    return { isTrue: true, reason: "ClusterAsleep", message: `${asleepText(snapshot)}${held}` };
  }
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
  const asleep = isClusterAsleep(snapshot) ? `; ${asleepText(snapshot)}` : "";
  if (latest === undefined)
    return { isTrue: false, reason: "NoBackupYet", message: `no backup has ended yet${asleep}` };
  const { name } = latest.metadata;
  if (isGood(latest)) {
    const message = `EtcdBackup ${name} is stored as ${latest.status?.objectURL}${asleep}`;
    const reason = asleep === "" ? "BackupCompleted" : "ClusterAsleep";
    return overdueWord(snapshot) ?? { isTrue: true, reason, message };
  }
  const defect = defectOf(latest);
  const why = defect ?? latest.status?.conditions?.find(({ type }) => type === "Failed");
  const what = defect === undefined ? "has failed" : "was stored, and its verification found it wrong";
  return {
    isTrue: false,
    reason: "BackupFailed",
    message: `EtcdBackup ${name} ${what}: ${why?.reason}: ${why?.message}`,
  };
}

function asleepText({ cluster }: ScheduleSnapshot): string {
  return `EtcdCluster ${cluster?.metadata.name} sleeps (spec.replicas is 0), and no backups are made until it is woken`;
}

/** That what should be there is not, though nothing is left that has failed: it was deleted, or replaced, or has not ended. */
function overdueWord(snapshot: ScheduleSnapshot): Word | undefined {
  const wantedMs = wantedSinceMs(snapshot);
  const unlabelled = [snapshot.lastRun, snapshot.wantedRun].filter((backup) => backup !== undefined);
  const latest = [...snapshot.backups, ...unlabelled]
    .filter((backup) => isGood(backup) && madeAtMs(backup) <= snapshot.takenAtMs + AHEAD_MS)
    .toSorted((a, b) => completedAtMs(a) - completedAtMs(b))
    .at(-1);
  if (wantedMs === undefined || (latest !== undefined && completedAtMs(latest) >= wantedMs)) return undefined;
  const others = latest === undefined ? "there is no other one" : `the latest is EtcdBackup ${latest.metadata.name}`;
  const message = `no good backup is there of the run that was due at ${rfc3339(wantedMs)}, nor a later one; ${others}`;
  return { isTrue: false, reason: "BackupOverdue", message };
}

/** The due time since when there must be a good backup: while one is under way, or about to be made, that of the run before. */
export function wantedSinceMs(snapshot: Seen): number | undefined {
  const { lastMs, dueMs, heldMs, sinceMs } = runsOf(snapshot);
  const headMs = dueMs ?? lastMs;
  const isOpen = dueMs !== undefined || snapshot.backups.some(isActive);
  if (headMs === undefined || !isOpen) return lastMs;
  const calendar = calendarFor(snapshot);
  const dueBefore = typeof calendar === "string" ? undefined : calendar.latest(headMs - 1);
  // What was due before an edit is not made up for, and what waited for its cluster to be woken was not to be there.
  const isDue = dueBefore !== undefined && sinceMs !== undefined && dueBefore > Math.max(sinceMs, heldMs ?? sinceMs);
  const before = [...(isDue ? [dueBefore] : []), ...(lastMs !== undefined && lastMs < headMs ? [lastMs] : [])];
  return before.toSorted((a, b) => a - b).at(-1);
}

/** It may have been due long before. */
function completedAtMs(backup: EtcdBackup): number {
  const completedMs = Date.parse(backup.status?.completionTime ?? "");
  return Number.isNaN(completedMs) ? madeAtMs(backup) : completedMs;
}

/** Who was made last: the latest of each etcd is known by its revision, and of these the one that was made last by the clock. */
export function latestOf(backups: readonly EtcdBackup[]): EtcdBackup | undefined {
  return [...latestByEtcd(backups).values()].toSorted(byAge).at(-1);
}
