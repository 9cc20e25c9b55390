import { runsOf } from "#schedule/runs.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Waits for the next due time. */
export const awaitDue: ScheduleRule = {
  name: "await-due",
  decide(snapshot) {
    const { nextMs } = runsOf(snapshot);
    if (nextMs === undefined) return undefined;
    return { next: "settled", recheckAfterMs: nextMs - snapshot.takenAtMs };
  },
};
