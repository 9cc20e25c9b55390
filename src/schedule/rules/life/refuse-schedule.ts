import { wait } from "#runtime/decide.ts";
import { calendarFor } from "#schedule/runs.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** An edit of the spec wakes this room; this is for a release of the operator that knows more, in milliseconds. */
const RECHECK_MS = 10 * 60_000;

/** A schedule that nobody can understand makes no backups, and deletes none. */
export const refuseSchedule: ScheduleRule = {
  name: "refuse-schedule",
  decide(snapshot) {
    const calendar = calendarFor(snapshot);
    return typeof calendar === "string" ? wait("refuse-schedule", calendar, RECHECK_MS, { warn: true }) : undefined;
  },
};
