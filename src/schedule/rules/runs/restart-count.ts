import { wait } from "#runtime/decide.ts";
import { runsOf } from "#schedule/runs.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECHECK_MS = 2_000;

/** Restarts counting for a schedule that is new, edited or resumed, and records that before a run is made. */
export const restartCount: ScheduleRule = {
  name: "restart-count",
  decide(snapshot) {
    const { suspend, schedule } = snapshot.schedule.spec;
    if (suspend || runsOf(snapshot).sinceMs !== undefined) return undefined;
    return wait("restart-count", `due times of ${schedule} count from now on`, RECHECK_MS);
  },
};
