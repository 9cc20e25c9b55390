import { stateOf } from "#agent-job/job-state.ts";
import { hasEnded, isOwned, isToBeVerified } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/** Ends the Job of a verification that was given up: its result is final. */
export const stopVerification: BackupRule = {
  name: "stop-verification",
  decide(snapshot) {
    const { verifying } = snapshot;
    if (verifying === undefined || !isOwned(snapshot, verifying.job)) return undefined;
    if (!hasEnded(snapshot) || isToBeVerified(snapshot)) return undefined;
    const { job } = verifying;
    if (stateOf(job) !== "active" || job.metadata.deletionTimestamp !== undefined) return undefined;
    return step("stop-verification", `the verification was given up; Job ${job.metadata.name} is deleted`, {
      do: "deleteJob",
      job,
    });
  },
};
