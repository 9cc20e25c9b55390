import { wait } from "#runtime/decide.ts";
import { calendarFor } from "#schedule/runs.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Recheck interval, in milliseconds: a later release may accept the spec. An edit has an event of its own. */
const RECHECK_MS = 10 * 60_000;

/** Stops a schedule with an invalid spec: it creates and deletes no backups. */
export const refuseSchedule: ScheduleRule = {
  name: "refuse-schedule",
  decide(snapshot) {
    const calendar = calendarFor(snapshot);
    return typeof calendar === "string" ? wait("refuse-schedule", calendar, RECHECK_MS, { warn: true }) : undefined;
  },
};
