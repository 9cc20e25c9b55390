import { remark, step } from "#runtime/decide.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** With spec.archive, an EtcdBackup stores every change as it happens. */
export const beginArchive: ScheduleRule = {
  name: "begin-archive",
  decide({ schedule, archive, archiveNamesake, rival }) {
    const backup = archiveFor(schedule);
    if (backup === undefined) return undefined;
    if (archiveNamesake !== undefined) {
      const because = `spec.archive waits: EtcdBackup ${archiveNamesake.metadata.name} exists, and this schedule has not made it; when it is deleted, another one is made, and what it has stored stays`;
      return remark("begin-archive", because);
    }
    // Each would delete what is too old for it, and take the other one's objects for its own.
    if (rival !== undefined) {
      const waits = archive === undefined ? "waits: " : "is not safe: ";
      const because = `spec.archive ${waits}EtcdBackup ${rival.metadata.name} stores the same etcd's changes in the same place; give one of the two another prefix, or another path on its volume; or delete that EtcdBackup when its schedule is gone: what it has stored stays`;
      return remark("begin-archive", because);
    }
    if (archive !== undefined) return undefined;
    return step("begin-archive", "spec.archive is given: changes are stored as they happen", {
      do: "createBackup",
      backup,
    });
  },
};
