import { wait } from "#runtime/decide.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Its deletion wakes nobody here, so it is looked for in between, in milliseconds. */
const RECHECK_MS = 10_000;

/** An EtcdBackup that has the name of the one that is due, and that the schedule has not made, is never taken over. */
export const nameTaken: ScheduleRule = {
  name: "name-taken",
  decide({ namesake }) {
    if (namesake === undefined) return undefined;
    const because = `EtcdBackup ${namesake.metadata.name} exists already, and this schedule has not made it`;
    return wait("name-taken", because, RECHECK_MS, { warn: true });
  },
};
