import { rfc3339 } from "#base/timestamp.ts";
import { step } from "#runtime/decide.ts";
import { backupFor } from "#schedule/desired/backup.ts";
import { runsOf } from "#schedule/runs.ts";
import { isActive, isGood, madeAtMs } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** So long after a backup was made no other one is made for the archive's sake, in milliseconds: what hinders it passes, or does not. */
const PAUSE_MS = 10 * 60_000;

/** The archive has begun, or has a gap, and no backup holds what is before: one is made at once, since changes are of no use without it. */
export const closeGap: ScheduleRule = {
  name: "close-gap",
  decide(snapshot) {
    const { schedule, backups, archive, takenAtMs } = snapshot;
    const from = archive?.status?.archive?.from;
    if (from === undefined || schedule.spec.suspend || backups.some(isActive)) return undefined;
    const isCovered = backups.some(
      (backup) => isGood(backup) && BigInt(backup.status?.object?.revision ?? 0) >= BigInt(from) - 1n,
    );
    const isRecent = backups.some((backup) => takenAtMs - madeAtMs(backup) < PAUSE_MS);
    if (isCovered || isRecent) return undefined;
    const nowMs = Math.floor(takenAtMs / 1_000) * 1_000;
    const { lastMs, made } = runsOf(snapshot);
    if (lastMs !== undefined && nowMs <= lastMs) return undefined;
    const because = `changes are stored from revision ${from} on, and no backup holds what is before (${rfc3339(nowMs)})`;
    return step("close-gap", because, { do: "createBackup", backup: backupFor(snapshot, nowMs, made) });
  },
};
