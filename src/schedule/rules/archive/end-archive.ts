import { folderOf, ownerFolder } from "#api/backup-folder.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { step } from "#runtime/decide.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import { isToBeReplaced } from "#schedule/failures.ts";
import { isDeleting, type ScheduleSnapshot } from "#schedule/snapshot.ts";
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
    return step("end-archive", text, { do: "deleteBackup", backup: archive, keepers: [] });
  },
};
