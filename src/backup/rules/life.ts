import { endJobOf, endPodOf } from "#agent-job/endings.ts";
import { isCheckDue } from "#backup/object-check.ts";
import { type BackupSnapshot, hasEnded, isOwned, ownOf } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { verdictOf } from "#backup/verdict.ts";
import type { Job } from "#kube/kinds.ts";
import { step, wait } from "#runtime/decide.ts";

/** Ends the Job of a backup that has ended: Completed and Failed are final, so nothing may be stored afterwards. */
export const stopJob: BackupRule = {
  name: "stop-job",
  decide(snapshot) {
    if (!hasEnded(snapshot)) return undefined;
    return endJobOf([ownOf(snapshot, snapshot.taking)], "the backup has ended");
  },
};

/** Deletes a pod in which only a container of a webhook still runs, after a failure that a retry may mend. The Job creates the next pod. */
export const endPod: BackupRule = {
  name: "end-pod",
  decide(snapshot) {
    const { taking, verifying, checking, removing } = snapshot;
    return endPodOf([taking, verifying, checking, removing].map((each) => ownOf(snapshot, each)));
  },
};

/**
 * How long Jobs with their pods are kept after the status has their result, in milliseconds, so that users can read the
 * pods' logs. If smaller, the log of a failed night is gone in the morning. If larger, a thousand schedules keep tens of
 * thousands of pods, which slows the API server down.
 */
export const LOGS_MS = 24 * 3_600_000;

/** The backup's Jobs with the time for which they are still kept, in milliseconds. */
function keptJobs(snapshot: BackupSnapshot): readonly { readonly job: Job; readonly leftMs: number }[] {
  const { taking, verifying, backup, takenAtMs } = snapshot;
  const { completionTime, objectKey, verification } = backup.status ?? {};
  const results = [
    // Without the object's key in the status, only the Job has it, so the Job is kept.
    { attempt: taking, at: objectKey === undefined ? undefined : completionTime },
    { attempt: verifying, at: verification?.completionTime },
  ];
  return results.flatMap(({ attempt, at = "" }) => {
    const leftMs = Date.parse(at) + LOGS_MS - takenAtMs;
    if (attempt === undefined || Number.isNaN(leftMs) || !isOwned(snapshot, attempt.job)) return [];
    return attempt.job.metadata.deletionTimestamp === undefined ? [{ job: attempt.job, leftMs }] : [];
  });
}

/** Deletes Jobs of a backup that ended a day ago. Nothing creates them again: the results in the status are final. */
export const clearJobs: BackupRule = {
  name: "clear-jobs",
  decide(snapshot) {
    const [over] = keptJobs(snapshot).filter(({ leftMs }) => leftMs <= 0);
    if (over === undefined) return undefined;
    const because = `the result of Job ${over.job.metadata.name} has been in the status for a day, so the Job is deleted`;
    return step(because, { do: "deleteJob", job: over.job });
  },
};

/** Recheck interval while the Job of a check exists, in milliseconds; Jobs have events of their own. */
const CHECK_RECHECK_MS = 10_000;
/**
 * Recheck interval while a check waits for a place, in milliseconds. Longer than that of backups that wait, so
 * that these get a free place first.
 */
const DUE_RECHECK_MS = 60_000;

/** Completed and Failed are final: a second backup needs another EtcdBackup. Its Jobs are kept for a day. */
export const ended: BackupRule = {
  name: "ended",
  decide(snapshot) {
    if (!hasEnded(snapshot)) return undefined;
    const { checking } = snapshot;
    const times = [
      ...keptJobs(snapshot).map(({ leftMs }) => leftMs),
      ...(checking === undefined ? [] : [CHECK_RECHECK_MS]),
      ...(isCheckDue(snapshot) ? [DUE_RECHECK_MS] : []),
    ];
    return times.length === 0 ? { next: "settled" } : { next: "settled", recheckAfterMs: Math.min(...times) };
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

/** The backup has failed; status and event give the reason. The failure is final; a schedule may repeat the run. */
export const backupFailed: BackupRule = {
  name: "backup-failed",
  decide(snapshot) {
    const { phase, reason, message } = verdictOf(snapshot);
    return phase === "Failed" ? wait(`${reason}: ${message}`, RECHECK_MS, { warn: true }) : undefined;
  },
};
