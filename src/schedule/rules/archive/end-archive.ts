import { isSameData } from "#base/hash.ts";
import { step } from "#runtime/decide.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import { isDeleting } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** So long an archive that has failed can be looked at before another one is made, in milliseconds. */
const PAUSE_MS = 60_000;

/**
 * The EtcdBackup that stores changes is deleted when nobody wants it any more, and when it has failed or the schedule wants another one, which is made then. What it
 * has stored stays, and the next one goes on there.
 */
export const endArchive: ScheduleRule = {
  name: "end-archive",
  decide({ schedule, archive, takenAtMs }) {
    if (archive === undefined || isDeleting(archive)) return undefined;
    const wanted = archiveFor(schedule);
    const { phase, completionTime = "" } = archive.status ?? {};
    const hasFailed = phase === "Failed" && takenAtMs - Date.parse(completionTime) >= PAUSE_MS;
    const because =
      wanted === undefined
        ? "spec.archive is not given any more"
        : hasFailed
          ? "it has failed, and another one is made"
          : isSameData(wanted.spec, archive.spec)
            ? undefined
            : "the schedule says another one by now";
    if (because === undefined) return undefined;
    const text = `EtcdBackup ${archive.metadata.name}, which stores changes, is deleted: ${because}`;
    return step("end-archive", text, { do: "deleteBackup", backup: archive, keepers: [] });
  },
};
