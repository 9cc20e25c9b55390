import { step } from "#runtime/decide.ts";
import { runsOf } from "#schedule/runs.ts";
import { isActive } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Deletes a running backup when the next one is due (concurrencyPolicy Replace). */
export const replaceBackup: ScheduleRule = {
  name: "replace-backup",
  decide(snapshot) {
    if (snapshot.schedule.spec.concurrencyPolicy !== "Replace") return undefined;
    if (runsOf(snapshot).dueMs === undefined) return undefined;
    const backup = snapshot.backups.find(isActive);
    if (backup === undefined) return undefined;
    const because = `EtcdBackup ${backup.metadata.name} has not ended, and the next one is due`;
    return step("replace-backup", because, { do: "deleteBackup", backup, keepers: [] });
  },
};
