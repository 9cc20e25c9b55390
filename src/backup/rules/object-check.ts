import { checkJob } from "#backup/desired/job.ts";
import { checkOutcomeOf, isCheckDue, isCheckRecorded, lackOfCheck } from "#backup/object-check.ts";
import { isFull } from "#backup/running.ts";
import { ownOf } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { step, wait } from "#runtime/decide.ts";

/**
 * Creates the Job that checks whether the object is still stored, once a day for the two newest backups of a schedule.
 * It takes one of the places of --running-backups.
 */
export const checkObject: BackupRule = {
  name: "check-object",
  decide(snapshot) {
    const { agentImage, running } = snapshot;
    if (!isCheckDue(snapshot) || lackOfCheck(snapshot) !== undefined) return undefined;
    const target = targetOf(snapshot);
    if (agentImage === undefined || typeof target === "string") return undefined;
    if (running !== undefined && isFull(running)) return undefined;
    const job = checkJob(snapshot, target, agentImage);
    return step(`the daily check looks whether ${target.url} is still stored`, { do: "createCheckJob", job });
  },
};

/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const RECORDED_RECHECK_MS = 2_000;

/** Waits until the status has the result of the check. An event warns when the object is gone or the check could not be made. */
export const recordCheck: BackupRule = {
  name: "record-check",
  decide(snapshot) {
    const outcome = checkOutcomeOf(snapshot);
    if (outcome === undefined) return undefined;
    const { status, reason, message } = outcome;
    if (status === "True") return wait(message, RECORDED_RECHECK_MS);
    const what = status === "False" ? "the object cannot be restored" : "the daily check could not be made";
    return wait(`${what} (${reason}): ${message}`, RECORDED_RECHECK_MS, { warn: true });
  },
};

/** Deletes the Job of a check when its result is in the status, so that the next day can have a Job of that name. */
export const clearCheck: BackupRule = {
  name: "clear-check",
  decide(snapshot) {
    const own = ownOf(snapshot, snapshot.checking);
    if (own === undefined || own.job.metadata.deletionTimestamp !== undefined) return undefined;
    if (!isCheckRecorded(snapshot)) return undefined;
    const { job } = own;
    return step(`the result of Job ${job.metadata.name} is in the status, so the Job is deleted`, {
      do: "deleteJob",
      job,
    });
  },
};
