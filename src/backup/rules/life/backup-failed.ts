import type { BackupRule } from "#backup/step.ts";
import { verdictOf } from "#backup/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** The status that says so is written now, and its event wakes this room; in milliseconds. */
const RECHECK_MS = 2_000;

/** The backup has failed, and the status and an event say why. Nothing is tried any more. */
export const backupFailed: BackupRule = {
  name: "backup-failed",
  decide(snapshot) {
    const { phase, reason, message } = verdictOf(snapshot);
    return phase === "Failed" ? wait("backup-failed", `${reason}: ${message}`, RECHECK_MS, { warn: true }) : undefined;
  },
};
