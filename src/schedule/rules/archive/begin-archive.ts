import { step } from "#runtime/decide.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** With spec.archive, an EtcdBackup stores every change as it happens. */
export const beginArchive: ScheduleRule = {
  name: "begin-archive",
  decide({ schedule, archive }) {
    const backup = archiveFor(schedule);
    if (backup === undefined || archive !== undefined) return undefined;
    return step("begin-archive", "spec.archive is given: changes are stored as they happen", {
      do: "createBackup",
      backup,
    });
  },
};
