import { step } from "#runtime/decide.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/**
 * Removes the mark that a deleted schedule left on an EtcdBackup: the object stays, even if a new schedule has the
 * name.
 */
export const keepOrphaned: ScheduleRule = {
  name: "keep-orphaned",
  decide({ left: [backup] }) {
    if (backup === undefined) return undefined;
    const because = `the schedule that marked the object of EtcdBackup ${backup.metadata.name} for deletion is gone; the object stays`;
    return step("keep-orphaned", because, { do: "keepObject", backup });
  },
};
