import { stateOf } from "#agent-job/job-state.ts";
import { deletionFailedAtMs, whyNotDeleted } from "#backup/deletion.ts";
import { isLeaving, isOwned } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Pause after a failed deletion, in milliseconds; its Job has tried five times. Ten minutes is a guess: if smaller, an
 * unreachable store gets constant requests; if larger, the EtcdBackup stays long after the store is back.
 */
const RETRY_AFTER_MS = 10 * 60_000;

/** Retries a failed deletion after a pause: a new Job of the same name replaces the failed one. */
export const retryDeletion: BackupRule = {
  name: "retry-deletion",
  decide(snapshot) {
    const { removing, takenAtMs } = snapshot;
    if (!isLeaving(snapshot) || removing === undefined) return undefined;
    const { job } = removing;
    if (!isOwned(snapshot, job) || stateOf(job) !== "failed" || job.metadata.deletionTimestamp !== undefined)
      return undefined;
    if (takenAtMs - deletionFailedAtMs(job) < RETRY_AFTER_MS) return undefined;
    return step("retry-deletion", `the deletion is retried: ${whyNotDeleted(snapshot)}`, { do: "deleteJob", job });
  },
};
