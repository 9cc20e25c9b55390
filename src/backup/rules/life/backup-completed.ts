import type { BackupRule } from "#backup/step.ts";
import { verdictOf } from "#backup/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECHECK_MS = 2_000;

/** The object is stored, and the status describes it. */
export const backupCompleted: BackupRule = {
  name: "backup-completed",
  decide(snapshot) {
    const { phase, message } = verdictOf(snapshot);
    return phase === "Completed" ? wait("backup-completed", message, RECHECK_MS) : undefined;
  },
};
