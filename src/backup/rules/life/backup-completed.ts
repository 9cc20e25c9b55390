import type { BackupRule } from "#backup/step.ts";
import { verdictOf } from "#backup/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** The status that says so is written now, and its event wakes this room; in milliseconds. */
const RECHECK_MS = 2_000;

/** The object is stored. The status says what it is. */
export const backupCompleted: BackupRule = {
  name: "backup-completed",
  decide(snapshot) {
    const { phase, message } = verdictOf(snapshot);
    return phase === "Completed" ? wait("backup-completed", message, RECHECK_MS) : undefined;
  },
};
