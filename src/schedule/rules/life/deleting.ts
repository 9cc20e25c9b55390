import { isDeleting } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** A schedule that is being deleted makes nothing and deletes nothing: its EtcdBackups stay, with their objects. */
export const deleting: ScheduleRule = {
  name: "deleting",
  decide({ schedule }) {
    return isDeleting(schedule) ? { next: "settled" } : undefined;
  },
};
