import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** The status that says so is written now, and its event wakes this room; in milliseconds. */
const RECHECK_MS = 2_000;

/** The cluster is there with the data, and can be read. */
export const restoreCompleted: RestoreRule = {
  name: "restore-completed",
  decide(snapshot) {
    const { phase, message } = verdictOf(snapshot);
    return phase === "Completed" ? wait("restore-completed", message, RECHECK_MS) : undefined;
  },
};
