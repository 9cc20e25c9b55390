import type { ScheduleReason } from "#api/conditions.ts";
import { defectOf, missingOf } from "#api/defect.ts";
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
  isSpoilt,
  madeAtMs,
  type ScheduleSnapshot,
} from "#schedule/snapshot.ts";

/** Status, reason and message of a condition. */
export interface Word {
  readonly isTrue: boolean;
  readonly reason: ScheduleReason;
  readonly message: string;
}

/** Condition Ready: whether backups are made when due. */
export function readyWord(snapshot: ScheduleSnapshot): Word {
  const calendar = calendarFor(snapshot);
  if (typeof calendar === "string") return { isTrue: false, reason: "SpecRefused", message: calendar };
  if (snapshot.schedule.spec.suspend)
    return { isTrue: true, reason: "Suspended", message: "spec.suspend is true: no backups are made" };
  const { dueMs, heldMs, nextMs } = runsOf(snapshot);
  if (isClusterAsleep(snapshot)) {
    const held = heldMs === undefined ? "" : `; the backup that was due at ${rfc3339(heldMs)} waits`;
    return { isTrue: true, reason: "ClusterAsleep", message: `${asleepText(snapshot)}${held}` };
  }
  const active = snapshot.backups.find(isActive);
  if (dueMs !== undefined && active !== undefined) {
    const message = `a backup was due at ${rfc3339(dueMs)}, but EtcdBackup ${active.metadata.name} has not ended`;
    return { isTrue: true, reason: "BackupRunning", message };
  }
  const message =
    nextMs === undefined
      ? "the first due time is determined next"
      : `the next backup is due at ${rfc3339(nextMs)}${unlimitedText(snapshot)}`;
  return { isTrue: true, reason: "Scheduled", message };
}

/** Clause about a schedule that never deletes a completed EtcdBackup; empty for others. */
function unlimitedText({ schedule: { spec } }: ScheduleSnapshot): string {
  if (spec.retention !== undefined || spec.successfulBackupsHistoryLimit !== undefined) return "";
  return "; all completed EtcdBackups and their objects stay, since spec has neither retention nor successfulBackupsHistoryLimit";
}

/**
 * Condition BackupReady: whether the latest run left a good backup. Recorded values of deleted backups do not count.
 */
export function backupReadyWord(snapshot: ScheduleSnapshot): Word {
  const { missedMs } = runsOf(snapshot);
  if (missedMs !== undefined) {
    const { startingDeadlineSeconds } = snapshot.schedule.spec;
    const message = `the backup that was due at ${rfc3339(missedMs)} did not start within ${startingDeadlineSeconds} s`;
    return { isTrue: false, reason: "RunMissed", message };
  }
  const hasEnded = (backup: EtcdBackup) => isGood(backup) || backup.status?.phase === "Failed" || isSpoilt(backup);
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
  const missing = missingOf(latest);
  if (missing !== undefined) {
    const message = `EtcdBackup ${name} cannot be restored (${missing.reason}): ${missing.message}`;
    return { isTrue: false, reason: "ObjectMissing", message };
  }
  const defect = defectOf(latest);
  const why = defect ?? latest.status?.conditions?.find(({ type }) => type === "Failed");
  const what = defect === undefined ? "has failed" : "was stored, but failed its verification";
  const { repeated, dueMs, nextMs } = runsOf(snapshot);
  const isPausing = repeated === latest && dueMs === undefined && nextMs !== undefined;
  const next = isPausing ? `; it is repeated at ${rfc3339(nextMs)}` : "";
  return {
    isTrue: false,
    reason: "BackupFailed",
    message: `EtcdBackup ${name} ${what}: ${why?.reason}: ${why?.message}${next}`,
  };
}

function asleepText({ cluster }: ScheduleSnapshot): string {
  return `EtcdCluster ${cluster?.metadata.name} sleeps (spec.replicas is 0); no backups are made until it is woken`;
}

/**
 * Message when an expected good backup is missing, although none has failed: it was deleted, replaced, or has not
 * ended.
 */
function overdueWord(snapshot: ScheduleSnapshot): Word | undefined {
  const wantedMs = wantedSinceMs(snapshot);
  const unlabelled = [snapshot.lastRun, snapshot.wantedRun].filter((backup) => backup !== undefined);
  const latest = [...snapshot.backups, ...unlabelled]
    .filter((backup) => isGood(backup) && madeAtMs(backup) <= snapshot.takenAtMs + AHEAD_MS)
    .toSorted((a, b) => completedAtMs(a) - completedAtMs(b))
    .at(-1);
  if (wantedMs === undefined || (latest !== undefined && completedAtMs(latest) >= wantedMs)) return undefined;
  const others = latest === undefined ? "there is no other backup" : `the latest is EtcdBackup ${latest.metadata.name}`;
  const message = `the run that was due at ${rfc3339(wantedMs)} has no good backup, nor has a later one; ${others}`;
  return { isTrue: false, reason: "BackupOverdue", message };
}

/** Due time since which a good backup must exist: that of the run before, while a run is in progress or due. */
export function wantedSinceMs(snapshot: Seen): number | undefined {
  const { lastMs, dueMs, heldMs, sinceMs } = runsOf(snapshot);
  const headMs = dueMs ?? lastMs;
  const isOpen = dueMs !== undefined || snapshot.backups.some(isActive);
  if (headMs === undefined || !isOpen) return lastMs;
  const calendar = calendarFor(snapshot);
  const dueBefore = typeof calendar === "string" ? undefined : calendar.latest(headMs - 1);
  // Times before an edit are not made up for, and a run that waited for its cluster to wake is not expected.
  const isDue = dueBefore !== undefined && sinceMs !== undefined && dueBefore > Math.max(sinceMs, heldMs ?? sinceMs);
  const before = [...(isDue ? [dueBefore] : []), ...(lastMs !== undefined && lastMs < headMs ? [lastMs] : [])];
  return before.toSorted((a, b) => a - b).at(-1);
}

/** When the backup was complete, which may be long after it was due. */
function completedAtMs(backup: EtcdBackup): number {
  const completedMs = Date.parse(backup.status?.completionTime ?? "");
  return Number.isNaN(completedMs) ? madeAtMs(backup) : completedMs;
}

/** The latest backup: the latest of each etcd by revision, and of these the newest by time. */
export function latestOf(backups: readonly EtcdBackup[]): EtcdBackup | undefined {
  return [...latestByEtcd(backups).values()].toSorted(byAge).at(-1);
}
