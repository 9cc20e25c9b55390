import type { BackupRule } from "#backup/step.ts";
import { verdictOf } from "#backup/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECHECK_MS = 2_000;

/** The backup has failed; status and event give the reason. Nothing is tried again. */
export const backupFailed: BackupRule = {
  name: "backup-failed",
  decide(snapshot) {
    const { phase, reason, message } = verdictOf(snapshot);
    return phase === "Failed" ? wait("backup-failed", `${reason}: ${message}`, RECHECK_MS, { warn: true }) : undefined;
  },
};
