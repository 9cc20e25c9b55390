import { stateOf } from "#backup/job-state.ts";
import { hasEnded, isOwned } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/** A backup that was given up has its Job ended: Completed and Failed are for ever, and nothing is stored behind anybody's back. */
export const stopJob: BackupRule = {
  name: "stop-job",
  decide(snapshot) {
    const { taking } = snapshot;
    if (!hasEnded(snapshot) || taking === undefined || !isOwned(snapshot, taking.job)) return undefined;
    const { job } = taking;
    if (stateOf(job) !== "active" || job.metadata.deletionTimestamp !== undefined) return undefined;
    return step("stop-job", `the backup was given up; Job ${job.metadata.name} is ended`, { do: "deleteJob", job });
  },
};
