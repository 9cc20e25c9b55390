import { wait } from "#runtime/decide.ts";
import { runsOf } from "#schedule/runs.ts";
import { isActive } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** The end of the backup wakes this room; this is for events that never come, in milliseconds. */
const RECHECK_MS = 30_000;

/** With concurrencyPolicy Forbid, a backup that is due waits for the one that has not ended. If several are due by then, the latest is made. */
export const awaitBackup: ScheduleRule = {
  name: "await-backup",
  decide(snapshot) {
    const active = snapshot.backups.find(isActive);
    if (active === undefined || runsOf(snapshot).dueMs === undefined) return undefined;
    return wait("await-backup", `a backup is due, and EtcdBackup ${active.metadata.name} has not ended`, RECHECK_MS);
  },
};
