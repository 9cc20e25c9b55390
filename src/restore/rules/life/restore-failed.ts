import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** The status that says so is written now, and its event wakes this room; in milliseconds. */
const RECHECK_MS = 2_000;

/** The restore has failed, and the status and an event say why. Nothing is tried any more. */
export const restoreFailed: RestoreRule = {
  name: "restore-failed",
  decide(snapshot) {
    const { phase, reason, message } = verdictOf(snapshot);
    return phase === "Failed" ? wait("restore-failed", `${reason}: ${message}`, RECHECK_MS, { warn: true }) : undefined;
  },
};
