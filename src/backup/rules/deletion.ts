import { type Attempted, endedAtMs, isToBeStopped, reportOf, stateOf } from "#agent-job/job-state.ts";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { lackOfClaim } from "#backup/claim.ts";
import { letGoText, whyNotDeleted } from "#backup/deletion.ts";
import { deletionJob } from "#backup/desired/job.ts";
import { deletingPods, isLost, isNothingStored, storingPods } from "#backup/pods.ts";
import { type BackupSnapshot, isDeleting, isLeaving, isOwned, mayKeepObject, ownOf } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { doublingPauseMs } from "#base/backoff.ts";
import { step, wait } from "#runtime/decide.ts";

/** Recheck interval in case events are lost, in milliseconds; pods have events of their own. */
const STOP_BACKUP_RECHECK_MS = 5_000;
/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const NOTED_RECHECK_MS = 1_000;

/**
 * Ends the Job of a running EtcdBackup that is being deleted, before its object is deleted: a running agent would store
 * it again.
 */
export const stopBackup: BackupRule = {
  name: "stop-backup",
  decide(snapshot) {
    const { taking } = snapshot;
    if (!isLeaving(snapshot) || mayKeepObject(snapshot)) return undefined;
    const own = ownOf(snapshot, taking);
    const { jobName, nothingStored } = snapshot.backup.status ?? {};
    if (nothingStored === true && !isNothingStored(snapshot))
      return wait("before its Job is deleted, the status must record that its agent has run", NOTED_RECHECK_MS);
    if (own !== undefined && isToBeStopped(own)) {
      const { job } = own;
      // Otherwise the next observation finds neither Job nor pods, and concludes that nothing was stored.
      if (jobName === undefined)
        return wait("before its Job is deleted, the status must record that it was created", NOTED_RECHECK_MS);
      const because = `Job ${job.metadata.name} is deleted before its object`;
      return step(because, { do: "deleteJob", job });
    }
    const [pod] = storingPods(snapshot);
    if (pod === undefined) return undefined;
    const why = isLost(snapshot, pod) ? whyNotDeleted(snapshot) : undefined;
    if (why !== undefined) {
      const because = `its object cannot be deleted: ${why}; ${letGoText(snapshot)}`;
      return wait(because, STOP_BACKUP_RECHECK_MS, { warn: true });
    }
    return wait(
      `pod ${pod.metadata.name} is ending; until it has ended it may store an object`,
      STOP_BACKUP_RECHECK_MS,
    );
  },
};

/** Recheck interval in case events are lost, in milliseconds; pods have events of their own. */
const STOP_DELETION_RECHECK_MS = 5_000;

/** Ends the deletion Job when a user keeps the object, before the EtcdBackup is released. */
export const stopDeletion: BackupRule = {
  name: "stop-deletion",
  holds: true,
  decide(snapshot) {
    const { removing } = snapshot;
    if (!isLeaving(snapshot) || !mayKeepObject(snapshot)) return undefined;
    const own = ownOf(snapshot, removing);
    if (own !== undefined && stateOf(own) === "active" && own.job.metadata.deletionTimestamp === undefined) {
      const { job } = own;
      const because = `Job ${job.metadata.name} is deleted before the EtcdBackup, so that the object stays`;
      return step(because, { do: "deleteJob", job });
    }
    // A pod on a lost node is ignored: it would block the EtcdBackup forever, and the annotation is the way out.
    const pod = deletingPods(snapshot).find((each) => !isLost(snapshot, each));
    if (pod === undefined) return undefined;
    return wait(`pod ${pod.metadata.name} is ending; until then it may delete something`, STOP_DELETION_RECHECK_MS);
  },
};

/**
 * Releases the EtcdBackup when its object is deleted, when no pod can have stored one, or when a user keeps the object.
 */
export const releaseBackup: BackupRule = {
  name: "release-backup",
  decide(snapshot) {
    if (!isLeaving(snapshot)) return undefined;
    const because = whyReleased(snapshot);
    return because === undefined ? undefined : step(because, { do: "releaseBackup" });
  },
};

function whyReleased(snapshot: BackupSnapshot): string | undefined {
  const { removing } = snapshot;
  const deleted = removing === undefined ? undefined : whyDeleted(snapshot, removing);
  if (deleted !== undefined) return deleted;
  if (mayKeepObject(snapshot))
    return `the annotation ${KEEP_OBJECT_ANNOTATION} is "true": the object stays, except for what is deleted already`;
  return isNothingStored(snapshot) ? "nothing was ever stored" : undefined;
}

function whyDeleted(snapshot: BackupSnapshot, removing: Attempted): string | undefined {
  if (!isOwned(snapshot, removing.job)) return undefined;
  const state = stateOf(removing);
  if (state === "succeeded") return "its object is deleted";
  const report = state === "failed" ? reportOf(removing) : undefined;
  const isGone = report?.ok === false && report.reason === "NoSuchBucket";
  return isGone ? `its object is gone together with its bucket: ${report.message}` : undefined;
}

/**
 * Shortest pause after a failed deletion, in milliseconds; its Job has tried five times. Ten minutes is a guess: if
 * smaller, an unreachable store gets constant requests; if larger, the EtcdBackup stays long after the store is back.
 */
const RETRY_AFTER_MS = 10 * 60_000;
/**
 * Longest pause, in milliseconds. If smaller, Jobs for a locked object run all day without effect; if larger, an
 * EtcdBackup stays for long after its credentials are corrected.
 */
const RETRY_AT_LEAST_EVERY_MS = 2 * 60 * 60_000;

/** Pause after this failure, in milliseconds. */
function retryAfterMs({ backup }: BackupSnapshot, failedAtMs: number): number {
  const sinceMs = Date.parse(backup.metadata.deletionTimestamp ?? "");
  return doublingPauseMs(failedAtMs - sinceMs, { leastMs: RETRY_AFTER_MS, mostMs: RETRY_AT_LEAST_EVERY_MS });
}

/** Retries a failed deletion after a pause: a new Job of the same name replaces the failed one. */
export const retryDeletion: BackupRule = {
  name: "retry-deletion",
  decide(snapshot) {
    const { removing, takenAtMs } = snapshot;
    if (!isLeaving(snapshot) || removing === undefined) return undefined;
    const { job } = removing;
    if (!isOwned(snapshot, job) || stateOf(removing) !== "failed" || job.metadata.deletionTimestamp !== undefined)
      return undefined;
    const failedAtMs = endedAtMs(removing);
    if (takenAtMs - failedAtMs < retryAfterMs(snapshot, failedAtMs)) return undefined;
    return step(`the deletion is retried: ${whyNotDeleted(snapshot)}`, { do: "deleteJob", job });
  },
};

/**
 * A Job deletes the object with the credentials of the backup. It deletes only objects with the uid of this EtcdBackup.
 */
export const deleteObject: BackupRule = {
  name: "delete-object",
  decide(snapshot) {
    const { removing, agentImage } = snapshot;
    if (!isLeaving(snapshot) || removing !== undefined || agentImage === undefined) return undefined;
    if (lackOfClaim(snapshot) !== undefined) return undefined;
    const target = targetOf(snapshot);
    if (typeof target === "string") return undefined;
    const because = `${target.url} is deleted before the EtcdBackup`;
    return step(because, { do: "createDeletionJob", job: deletionJob(snapshot, target, agentImage) });
  },
};

/** Recheck interval in case events are lost, in milliseconds; Jobs have events of their own. */
const AWAIT_DELETION_RECHECK_MS = 10_000;

/** Waits until the object is deleted, and shows what prevents it and how to keep the object instead. */
export const awaitDeletion: BackupRule = {
  name: "await-deletion",
  decide(snapshot) {
    const { removing } = snapshot;
    if (!isLeaving(snapshot)) return undefined;
    const why = whyNotDeleted(snapshot) ?? (removing === undefined ? "no Job can be created for it" : undefined);
    if (why === undefined) return wait("its object is being deleted", AWAIT_DELETION_RECHECK_MS);
    return wait(`its object cannot be deleted: ${why}; ${letGoText(snapshot)}`, AWAIT_DELETION_RECHECK_MS, {
      warn: true,
    });
  },
};

/** Leaves an EtcdBackup alone that can be deleted: the garbage collector deletes its Job, and its object stays. */
export const deleting: BackupRule = {
  name: "deleting",
  decide(snapshot) {
    return isDeleting(snapshot) ? { next: "settled" } : undefined;
  },
};
