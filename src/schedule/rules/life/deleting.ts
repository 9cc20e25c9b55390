import { step } from "#runtime/decide.ts";
import { isMarked } from "#schedule/disposal.ts";
import { isDeleting } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** A schedule that is being deleted makes nothing and deletes nothing: its EtcdBackups stay, with their objects, also those that were to go. */
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
