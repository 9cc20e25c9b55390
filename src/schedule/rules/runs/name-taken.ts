import { wait } from "#runtime/decide.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Recheck interval, in milliseconds: the deletion of a foreign EtcdBackup has no event here. */
const RECHECK_MS = 10_000;

/** Waits while a foreign EtcdBackup has the due name; it is never adopted. */
export const nameTaken: ScheduleRule = {
  name: "name-taken",
  decide({ namesake }) {
    if (namesake === undefined) return undefined;
    const because = `EtcdBackup ${namesake.metadata.name} exists already, and was not made by this schedule`;
    return wait("name-taken", because, RECHECK_MS, { warn: true });
  },
};
