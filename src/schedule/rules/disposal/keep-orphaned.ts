import { step } from "#runtime/decide.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** A schedule was deleted after it had marked an EtcdBackup, and before it deleted it: the object stays, whoever has the schedule's name by now. */
export const keepOrphaned: ScheduleRule = {
  name: "keep-orphaned",
  decide({ left: [backup] }) {
    if (backup === undefined) return undefined;
    const because = `the schedule that wanted the object of EtcdBackup ${backup.metadata.name} to go is gone, and it stays`;
    return step("keep-orphaned", because, { do: "keepObject", backup });
  },
};
