import { notice, step } from "#runtime/decide.ts";
import { archiveFor } from "#schedule/desired/backup.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Creates the EtcdBackup that stores every change, when spec.archive is set. */
export const beginArchive: ScheduleRule = {
  name: "begin-archive",
  decide({ schedule, archive, archiveNamesake, rival }) {
    const backup = archiveFor(schedule);
    if (backup === undefined) return undefined;
    if (archiveNamesake !== undefined) {
      const because = `spec.archive waits: EtcdBackup ${archiveNamesake.metadata.name} exists, and was not made by this schedule; delete it and a new one is created, which keeps what is stored`;
      return notice("begin-archive", because);
    }
    // Two archives in one place would prune each other's objects, and mistake them for their own.
    if (rival !== undefined) {
      const waits = archive === undefined ? "waits: " : "is not safe: ";
      const because = `spec.archive ${waits}EtcdBackup ${rival.metadata.name} stores the same etcd's changes in the same place; give one of the two another prefix, or another path on its volume. If the schedule of that EtcdBackup is gone, delete the EtcdBackup: the stored changes stay`;
      return notice("begin-archive", because);
    }
    if (archive !== undefined) return undefined;
    return step("begin-archive", "spec.archive is set: changes are stored as they happen", {
      do: "createBackup",
      backup,
    });
  },
};
