import { deletionFailedAtMs, whyNotDeleted } from "#backup/deletion.ts";
import { stateOf } from "#backup/job-state.ts";
import { isLeaving, isOwned } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * How long a deletion that has failed is left alone, in milliseconds: its Job has tried five times by then. Ten minutes is a guess: too
 * small, and a store that is away is asked without end; too large, and the EtcdBackup stays long after the store is back.
 */
const RETRY_AFTER_MS = 10 * 60_000;

/** A deletion that has failed is tried anew after a while: another Job of this name takes the place of the one that failed. */
export const retryDeletion: BackupRule = {
  name: "retry-deletion",
  decide(snapshot) {
    const { removing, takenAtMs } = snapshot;
    if (!isLeaving(snapshot) || removing === undefined) return undefined;
    const { job } = removing;
    if (!isOwned(snapshot, job) || stateOf(job) !== "failed" || job.metadata.deletionTimestamp !== undefined)
      return undefined;
    if (takenAtMs - deletionFailedAtMs(job) < RETRY_AFTER_MS) return undefined;
    return step("retry-deletion", `it is tried anew: ${whyNotDeleted(snapshot)}`, { do: "deleteJob", job });
  },
};
