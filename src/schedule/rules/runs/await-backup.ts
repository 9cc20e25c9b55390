import { wait } from "#runtime/decide.ts";
import { runsOf } from "#schedule/runs.ts";
import { isActive } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Recheck interval in case events are lost, in milliseconds; the backup has events of its own. */
const RECHECK_MS = 30_000;

/**
 * Waits with a due backup until the running one has ended (concurrencyPolicy Forbid). When several are due by then,
 * only the latest is made.
 */
export const awaitBackup: ScheduleRule = {
  name: "await-backup",
  decide(snapshot) {
    const active = snapshot.backups.find(isActive);
    if (active === undefined || runsOf(snapshot).dueMs === undefined) return undefined;
    return wait("await-backup", `a backup is due, but EtcdBackup ${active.metadata.name} has not ended`, RECHECK_MS);
  },
};
