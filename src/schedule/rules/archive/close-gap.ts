import { rfc3339 } from "#base/timestamp.ts";
import { step } from "#runtime/decide.ts";
import { backupFor } from "#schedule/desired/backup.ts";
import { runsOf } from "#schedule/runs.ts";
import {
  etcdOf,
  isActive,
  isBeside,
  isClusterAsleep,
  isGood,
  madeAtMs,
  revisionIn,
  revisionOf,
} from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** So long after a backup was made no other one is made for the archive's sake, in milliseconds: what hinders it passes, or does not. */
const PAUSE_MS = 10 * 60_000;

/**
 * So long after etcd was found to be brought back to an earlier state a backup is certain to be of what came then, in milliseconds. A restore keeps five minutes from
 * that moment (MARGIN_MS in src/agent/changes/origin.ts); as much again is for the clocks of the API server and of the backup's node.
 */
const SURE_MS = 10 * 60_000;

/**
 * The archive has begun, or has a gap, and no backup holds what is before: one is made at once, since changes are of no use without it. Where etcd was brought back
 * to an earlier state it is made ten minutes later: of one from before that nobody could be sure which state it holds.
 */
export const closeGap: ScheduleRule = {
  name: "close-gap",
  decide(snapshot) {
    const { schedule, backups, archive, takenAtMs } = snapshot;
    const { from, clusterID, since, time = "" } = archive?.status?.archive ?? {};
    const fromRevision = revisionIn(from);
    if (fromRevision === undefined || schedule.spec.suspend || isClusterAsleep(snapshot)) return undefined;
    if (backups.some(isActive)) return undefined;
    const sureMs = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since) + SURE_MS;
    if (takenAtMs < sureMs) return undefined;
    // An etcd that was made anew counts from the beginning, and one whose data was restored counts back; which one an agent of an earlier release means, it does not say.
    const isCovered = backups.some(
      (backup) =>
        isGood(backup) &&
        isBeside(backup, archive) &&
        revisionOf(backup) >= fromRevision - 1n &&
        (clusterID === undefined || etcdOf(backup) === clusterID) &&
        madeAtMs(backup) >= sureMs,
    );
    // What is told of an etcd that is gone no backup of the one in its place makes up for: the archive will tell of that one.
    const isOutdated =
      clusterID !== undefined &&
      backups.some(
        (backup) => isGood(backup) && ![clusterID, ""].includes(etcdOf(backup)) && madeAtMs(backup) > Date.parse(time),
      );
    const isRecent = backups.some((backup) => takenAtMs - madeAtMs(backup) < PAUSE_MS);
    if (isCovered || isOutdated || isRecent) return undefined;
    const nowMs = Math.floor(takenAtMs / 1_000) * 1_000;
    const { lastMs, made } = runsOf(snapshot);
    if (lastMs !== undefined && nowMs <= lastMs) return undefined;
    const because = `changes are stored from revision ${from} on, and no backup holds what is before (${rfc3339(nowMs)})`;
    return step("close-gap", because, { do: "createBackup", backup: backupFor(snapshot, nowMs, made) });
  },
};
