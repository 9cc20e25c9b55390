import { wait } from "#runtime/decide.ts";
import { runsOf } from "#schedule/runs.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** The status that says so is written now, and its event wakes this room; in milliseconds. */
const RECHECK_MS = 2_000;

/** A schedule that is new, edited or resumed counts from now on, and that is on record before anything is made. */
export const countAnew: ScheduleRule = {
  name: "count-anew",
  decide(snapshot) {
    const { suspend, schedule } = snapshot.schedule.spec;
    if (suspend || runsOf(snapshot).sinceMs !== undefined) return undefined;
    return wait("count-anew", `due times of ${schedule} count from now on`, RECHECK_MS);
  },
};
