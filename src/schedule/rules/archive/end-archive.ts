import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { isSameData } from "#base/hash.ts";
import { step } from "#runtime/decide.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import { isBeside, isDeleting, isGood, madeAtMs } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** So long an archive that has failed can be looked at before another one is made, in milliseconds. */
const PAUSE_MS = 60_000;

/** Whether the backup is a later one, and lies in another folder. */
function isLeft(archive: EtcdBackup, backup: EtcdBackup): boolean {
  return isGood(backup) && madeAtMs(backup) > madeAtMs(archive) && !isBeside(backup, archive);
}

/**
 * The EtcdBackup that stores changes is deleted when nobody wants it any more, and when it has failed or the schedule wants another one, which is made then. What it
 * has stored stays, and the next one goes on there.
 */
export const endArchive: ScheduleRule = {
  name: "end-archive",
  decide({ schedule, archive, backups, takenAtMs }) {
    if (archive === undefined || isDeleting(archive)) return undefined;
    const wanted = archiveFor(schedule);
    const { phase, completionTime = "" } = archive.status ?? {};
    const hasFailed = phase === "Failed" && takenAtMs - Date.parse(completionTime) >= PAUSE_MS;
    const because =
      wanted === undefined
        ? "spec.archive is not given any more"
        : hasFailed
          ? "it has failed, and another one is made"
          : !isSameData(wanted.spec, archive.spec)
            ? "the schedule says another one by now"
            : backups.some((backup) => isLeft(archive, backup))
              ? "backups are stored elsewhere since its EtcdCluster was made again, and restores of these look for changes there"
              : undefined;
    if (because === undefined) return undefined;
    const text = `EtcdBackup ${archive.metadata.name}, which stores changes, is deleted: ${because}`;
    return step("end-archive", text, { do: "deleteBackup", backup: archive, keepers: [] });
  },
};
