import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECHECK_MS = 2_000;

/** The cluster exists with the data and can be read. */
export const restoreCompleted: RestoreRule = {
  name: "restore-completed",
  decide(snapshot) {
    const { phase, message } = verdictOf(snapshot);
    return phase === "Completed" ? wait("restore-completed", message, RECHECK_MS) : undefined;
  },
};
