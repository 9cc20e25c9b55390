import { wait } from "#runtime/decide.ts";
import { dueName, isMade, runsOf } from "#schedule/runs.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECHECK_MS = 2_000;

/** Records a due backup that was made and has lost its label. */
export const recordRun: ScheduleRule = {
  name: "record-run",
  decide(snapshot) {
    const { dueMs } = runsOf(snapshot);
    if (dueMs === undefined || !isMade(snapshot)) return undefined;
    return wait("record-run", `EtcdBackup ${dueName(snapshot.schedule, dueMs)} was made and is recorded`, RECHECK_MS);
  },
};
