import { wait } from "#runtime/decide.ts";
import { dueName, isMade, runsOf } from "#schedule/runs.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** The status that says so is written now, and its event wakes this room; in milliseconds. */
const RECHECK_MS = 2_000;

/** The backup that is due has been made, though its label is gone, and it is put on record. */
export const recordRun: ScheduleRule = {
  name: "record-run",
  decide(snapshot) {
    const { dueMs } = runsOf(snapshot);
    if (dueMs === undefined || !isMade(snapshot)) return undefined;
    return wait("record-run", `EtcdBackup ${dueName(snapshot.schedule, dueMs)} has been made`, RECHECK_MS);
  },
};
