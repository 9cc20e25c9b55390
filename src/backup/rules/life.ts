import { stateOf } from "#agent-job/job-state.ts";
import { hasEnded, isOwned } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { verdictOf } from "#backup/verdict.ts";
import { step, wait } from "#runtime/decide.ts";

/** Ends the Job of a backup that was given up: Completed and Failed are final, so nothing may be stored afterwards. */
export const stopJob: BackupRule = {
  name: "stop-job",
  decide(snapshot) {
    const { taking } = snapshot;
    if (!hasEnded(snapshot) || taking === undefined || !isOwned(snapshot, taking.job)) return undefined;
    const { job } = taking;
    if (stateOf(job) !== "active" || job.metadata.deletionTimestamp !== undefined) return undefined;
    return step(`the backup was given up; Job ${job.metadata.name} is deleted`, { do: "deleteJob", job });
  },
};

/** Completed and Failed are final: a second backup needs another EtcdBackup. */
export const ended: BackupRule = {
  name: "ended",
  decide(snapshot) {
    return hasEnded(snapshot) ? { next: "settled" } : undefined;
  },
};

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECHECK_MS = 2_000;

/** The object is stored, and the status describes it. */
export const backupCompleted: BackupRule = {
  name: "backup-completed",
  decide(snapshot) {
    const { phase, message } = verdictOf(snapshot);
    return phase === "Completed" ? wait(message, RECHECK_MS) : undefined;
  },
};

/** The backup has failed; status and event give the reason. Nothing is tried again. */
export const backupFailed: BackupRule = {
  name: "backup-failed",
  decide(snapshot) {
    const { phase, reason, message } = verdictOf(snapshot);
    return phase === "Failed" ? wait(`${reason}: ${message}`, RECHECK_MS, { warn: true }) : undefined;
  },
};
