import { stateOf } from "#agent-job/job-state.ts";
import { hasEnded, isOwned } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/** Ends the Job of a backup that was given up: Completed and Failed are final, so nothing may be stored afterwards. */
export const stopJob: BackupRule = {
  name: "stop-job",
  decide(snapshot) {
    const { taking } = snapshot;
    if (!hasEnded(snapshot) || taking === undefined || !isOwned(snapshot, taking.job)) return undefined;
    const { job } = taking;
    if (stateOf(job) !== "active" || job.metadata.deletionTimestamp !== undefined) return undefined;
    return step("stop-job", `the backup was given up; Job ${job.metadata.name} is deleted`, { do: "deleteJob", job });
  },
};
