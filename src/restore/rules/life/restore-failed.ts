import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECHECK_MS = 2_000;

/** The restore has failed; status and event give the reason. Nothing is tried again. */
export const restoreFailed: RestoreRule = {
  name: "restore-failed",
  decide(snapshot) {
    const { phase, reason, message } = verdictOf(snapshot);
    return phase === "Failed" ? wait("restore-failed", `${reason}: ${message}`, RECHECK_MS, { warn: true }) : undefined;
  },
};
