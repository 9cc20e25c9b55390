import { step, wait } from "#runtime/decide.ts";
import { isMarked } from "#schedule/disposal.ts";
import { calendarFor } from "#schedule/runs.ts";
import { isDeleting } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/**
 * Creates and deletes nothing for a schedule that is being deleted: its EtcdBackups stay with their objects, and marks
 * are removed.
 */
export const deleting: ScheduleRule = {
  name: "deleting",
  decide({ schedule, backups }) {
    if (!isDeleting(schedule)) return undefined;
    const backup = backups.find((each) => isMarked(each) && !isDeleting(each));
    if (backup === undefined) return { next: "settled" };
    const because = `the schedule is being deleted, and the object of EtcdBackup ${backup.metadata.name} stays`;
    return step(because, { do: "keepObject", backup });
  },
};

/** Recheck interval, in milliseconds: a later release may accept the spec. An edit has an event of its own. */
const RECHECK_MS = 10 * 60_000;

/** Stops a schedule with an invalid spec: it creates and deletes no backups. */
export const refuseSchedule: ScheduleRule = {
  name: "refuse-schedule",
  decide(snapshot) {
    const calendar = calendarFor(snapshot);
    return typeof calendar === "string" ? wait(calendar, RECHECK_MS, { warn: true }) : undefined;
  },
};
