import { remark, step } from "#runtime/decide.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** With spec.archive, an EtcdBackup stores every change as it happens. */
export const beginArchive: ScheduleRule = {
  name: "begin-archive",
  decide({ schedule, archive, archiveNamesake }) {
    const backup = archiveFor(schedule);
    if (backup === undefined || archive !== undefined) return undefined;
    if (archiveNamesake !== undefined) {
      const because = `spec.archive waits: EtcdBackup ${archiveNamesake.metadata.name} exists, and this schedule has not made it; when it is deleted, another one is made, and what it has stored stays`;
      return remark("begin-archive", because);
    }
    return step("begin-archive", "spec.archive is given: changes are stored as they happen", {
      do: "createBackup",
      backup,
    });
  },
};
