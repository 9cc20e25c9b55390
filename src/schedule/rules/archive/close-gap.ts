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

/**
 * Pause after any backup before one is made for the archive, in milliseconds: a temporary obstacle passes, and a
 * permanent one stays.
 */
const PAUSE_MS = 10 * 60_000;

/**
 * Time after the detection of a restored etcd until a backup certainly belongs to the new history, in milliseconds. A
 * restore refuses backups within five minutes of it (MARGIN_MS in src/agent/changes/origin.ts). The rest covers
 * differences between the clocks of the API server and the backup's node.
 */
const SURE_MS = 10 * 60_000;

/**
 * Makes a backup at once when the archive has begun, or has a gap, and no backup covers the revisions before. Without
 * one its changes are useless. After etcd was restored to an earlier state the rule waits ten minutes, since an earlier
 * backup could be of either history.
 */
export const closeGap: ScheduleRule = {
  name: "close-gap",
  decide(snapshot) {
    const { schedule, backups, archive, takenAtMs } = snapshot;
    const { from, clusterID, since, time = "" } = archive?.status?.archive ?? {};
    const fromRevision = revisionIn(from);
    if (fromRevision === undefined || clusterID === undefined || schedule.spec.suspend || isClusterAsleep(snapshot))
      return undefined;
    if (backups.some(isActive)) return undefined;
    const sureMs = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since) + SURE_MS;
    if (takenAtMs < sureMs) return undefined;
    // A new etcd counts from the beginning, and a restored one counts back.
    const isCovered = backups.some(
      (backup) =>
        isGood(backup) &&
        isBeside(backup, archive) &&
        revisionOf(backup) >= fromRevision - 1n &&
        etcdOf(backup) === clusterID &&
        madeAtMs(backup) >= sureMs,
    );
    // The archive still describes an etcd that was replaced: a backup of the new one does not help. The archive will
    // describe the new one next.
    const isOutdated = backups.some(
      (backup) => isGood(backup) && ![clusterID, ""].includes(etcdOf(backup)) && madeAtMs(backup) > Date.parse(time),
    );
    const isRecent = backups.some((backup) => takenAtMs - madeAtMs(backup) < PAUSE_MS);
    if (isCovered || isOutdated || isRecent) return undefined;
    const nowMs = Math.floor(takenAtMs / 1_000) * 1_000;
    const { lastMs, made } = runsOf(snapshot);
    if (lastMs !== undefined && nowMs <= lastMs) return undefined;
    const because = `changes are stored from revision ${from} on, and no backup covers what is before (${rfc3339(nowMs)})`;
    return step("close-gap", because, { do: "createBackup", backup: backupFor(snapshot, nowMs, made) });
  },
};
