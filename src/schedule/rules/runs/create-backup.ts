import { rfc3339 } from "#base/timestamp.ts";
import { step } from "#runtime/decide.ts";
import { backupFor } from "#schedule/desired/backup.ts";
import { runsOf } from "#schedule/runs.ts";
import { isActive } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Creates the due EtcdBackup. Its name contains the due time, so that it is made once. */
export const createBackup: ScheduleRule = {
  name: "create-backup",
  decide(snapshot) {
    const { schedule, backups, namesake } = snapshot;
    const { dueMs, made } = runsOf(snapshot);
    if (dueMs === undefined || namesake !== undefined) return undefined;
    if (schedule.spec.concurrencyPolicy !== "Allow" && backups.some(isActive)) return undefined;
    const because = `a backup was due at ${rfc3339(dueMs)}`;
    return step("create-backup", because, { do: "createBackup", backup: backupFor(snapshot, dueMs, made) });
  },
};
