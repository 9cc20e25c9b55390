import { fillingsOf } from "#restore/pods.ts";
import { hasEnded, isComplete, isDeleting, isHeld, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { verdictOf } from "#restore/verdict.ts";
import { step, wait } from "#runtime/decide.ts";

/** Removes the operator's finalizer once no unused claim is left: then the EtcdRestore can be deleted at any time. */
export const releaseRestore: RestoreRule = {
  name: "release-restore",
  decide(snapshot) {
    if (!isHeld(snapshot) || !(hasEnded(snapshot) || isDeleting(snapshot))) return undefined;
    return step("no unused claim is left", { do: "releaseRestore" });
  },
};

/**
 * How long the Jobs of a failed restore are kept, in milliseconds, so that users can read the pods' logs. If too large,
 * unused claims stay as long, since a pod keeps its claim.
 */
export const LOGS_MS = 5 * 60_000;

/** Deletes the Jobs of a restore that has ended: a claim cannot be deleted while a pod uses it, even a finished pod. */
export const clearJobs: RestoreRule = {
  name: "clear-jobs",
  decide(snapshot) {
    if (!hasEnded(snapshot) || logsStayMs(snapshot) > 0) return undefined;
    const jobs = fillingsOf(snapshot).map((filling) => filling.job);
    const job = jobs.find(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (job === undefined) return undefined;
    const because = `the restore has ended; Job ${job.metadata.name} is deleted, since its pods hold claims`;
    return step(because, { do: "deleteJob", job });
  },
};

/** Time for which the Jobs are still kept, in milliseconds; 0, negative or NaN: no longer. */
export function logsStayMs({ restore, takenAtMs }: RestoreSnapshot): number {
  const { phase, completionTime = "" } = restore.status ?? {};
  if (phase === "Completed") return 0;
  return Date.parse(completionTime) + LOGS_MS - takenAtMs;
}

/** Leaves an EtcdRestore alone that can be deleted: the garbage collector deletes its Jobs. */
export const deleting: RestoreRule = {
  name: "deleting",
  decide(snapshot) {
    return isDeleting(snapshot) ? { next: "settled" } : undefined;
  },
};

/**
 * Completed and Failed are final: a second restore needs another EtcdRestore. Logs of a failed restore are kept for a
 * while.
 */
export const ended: RestoreRule = {
  name: "ended",
  decide(snapshot) {
    if (!hasEnded(snapshot)) return undefined;
    const leftMs = logsStayMs(snapshot);
    return leftMs > 0 ? { next: "settled", recheckAfterMs: leftMs } : { next: "settled" };
  },
};

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECHECK_MS = 2_000;

/** The cluster exists with the data and can be read. */
export const restoreCompleted: RestoreRule = {
  name: "restore-completed",
  decide(snapshot) {
    const { phase, message } = verdictOf(snapshot);
    return phase === "Completed" ? wait(message, RECHECK_MS) : undefined;
  },
};

/** The restore has failed; status and event give the reason. Nothing is tried again. */
export const restoreFailed: RestoreRule = {
  name: "restore-failed",
  decide(snapshot) {
    const { phase, reason, message } = verdictOf(snapshot);
    return phase === "Failed" ? wait(`${reason}: ${message}`, RECHECK_MS, { warn: true }) : undefined;
  },
};

/**
 * A finalizer keeps the EtcdRestore until no half-filled claim is left. It is set before the first claim is created.
 */
export const holdRestore: RestoreRule = {
  name: "hold-restore",
  holds: true,
  decide(snapshot) {
    if (isHeld(snapshot) || isComplete(snapshot)) return undefined;
    return step("the EtcdRestore is kept until its claims are filled or deleted", {
      do: "holdRestore",
    });
  },
};
