import { folderOf, ownerFolder } from "#api/backup-folder.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { notice, step } from "#runtime/decide.ts";
import { archiveFor, backupFor } from "#schedule/desired/backup.ts";
import { isToBeReplaced } from "#schedule/failures.ts";
import { runsOf } from "#schedule/runs.ts";
import {
  etcdOf,
  isActive,
  isBeside,
  isClusterAsleep,
  isDeleting,
  isGood,
  madeAtMs,
  revisionIn,
  revisionOf,
  type ScheduleSnapshot,
} from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Whether it lies in the folder of an EtcdCluster that is gone. */
function isLeft({ spec, status }: EtcdBackup, cluster: EtcdCluster): boolean {
  if (status?.objectKey === undefined) return false;
  return !`/${folderOf(status.objectKey)}`.endsWith(`/${ownerFolder(spec.source, cluster.metadata.uid).join("/")}`);
}

/** Why the archive's EtcdBackup is deleted; undefined: it stays. */
function whyItGoes(archive: EtcdBackup, snapshot: ScheduleSnapshot): string | undefined {
  const { schedule, cluster } = snapshot;
  const wanted = archiveFor(schedule);
  if (wanted === undefined) return "spec.archive is no longer set";
  if (isToBeReplaced(snapshot, archive)) return "it has failed and is replaced";
  if (!isSameData(wanted.spec, archive.spec))
    return "spec.archive or spec.backupTemplate.spec of the EtcdBackupSchedule has changed";
  if (cluster === undefined || !isLeft(archive, cluster)) return undefined;
  return `EtcdCluster ${cluster.metadata.name} was created again: its backups are in another folder, and their restores look for changes there`;
}

/**
 * Deletes the archive's EtcdBackup when it is no longer wanted, has failed, or the spec has changed. In the last two
 * cases a new one follows. What it has stored stays, and the next one continues there.
 */
export const endArchive: ScheduleRule = {
  name: "end-archive",
  decide(snapshot) {
    const { archive } = snapshot;
    if (archive === undefined || isDeleting(archive)) return undefined;
    const because = whyItGoes(archive, snapshot);
    if (because === undefined) return undefined;
    const text = `EtcdBackup ${archive.metadata.name}, which stores changes, is deleted: ${because}`;
    return step(text, { do: "deleteBackup", backup: archive, keepers: [] });
  },
};

/** Creates the EtcdBackup that stores every change, when spec.archive is set. */
export const beginArchive: ScheduleRule = {
  name: "begin-archive",
  decide({ schedule, archive, archiveNamesake, rival }) {
    const backup = archiveFor(schedule);
    if (backup === undefined) return undefined;
    if (archiveNamesake !== undefined) {
      const because = `spec.archive waits: EtcdBackup ${archiveNamesake.metadata.name} exists, and was not made by this schedule; delete it and a new one is created, which keeps what is stored`;
      return notice(because);
    }
    // Two archives in one place would prune each other's objects, and mistake them for their own.
    if (rival !== undefined) {
      const waits = archive === undefined ? "waits: " : "is not safe: ";
      const because = `spec.archive ${waits}EtcdBackup ${rival.metadata.name} stores the same etcd's changes in the same place; give one of the two another prefix, or another path on its volume. If the schedule of that EtcdBackup is gone, delete the EtcdBackup: the stored changes stay`;
      return notice(because);
    }
    if (archive !== undefined) return undefined;
    return step("spec.archive is set: changes are stored as they happen", {
      do: "createBackup",
      backup,
    });
  },
};

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
    return step(because, { do: "createBackup", backup: backupFor(snapshot, nowMs, made) });
  },
};
