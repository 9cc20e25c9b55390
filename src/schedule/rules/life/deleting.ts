import { step } from "#runtime/decide.ts";
import { isMarked } from "#schedule/disposal.ts";
import { isDeleting } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/**
 * Creates and deletes nothing for a schedule that is being deleted: its EtcdBackups stay with their objects, and marks
 * are removed.
 */
export const deleting: ScheduleRule = {
  name: "deleting",
  decide({ schedule, backups }) {
    if (!isDeleting(schedule)) return undefined;
    const backup = backups.find((each) => isMarked(each) && !isDeleting(each));
    if (backup === undefined) return { next: "settled" };
    const because = `the schedule is being deleted, and the object of EtcdBackup ${backup.metadata.name} stays`;
    return step("deleting", because, { do: "keepObject", backup });
  },
};
