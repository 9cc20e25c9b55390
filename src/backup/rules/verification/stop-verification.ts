import { stateOf } from "#backup/job-state.ts";
import { hasEnded, isOwned, isToBeVerified } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/** A verification that was given up has its Job ended: what was found is for ever. */
export const stopVerification: BackupRule = {
  name: "stop-verification",
  decide(snapshot) {
    const { verifying } = snapshot;
    if (verifying === undefined || !isOwned(snapshot, verifying.job)) return undefined;
    if (!hasEnded(snapshot) || isToBeVerified(snapshot)) return undefined;
    const { job } = verifying;
    if (stateOf(job) !== "active" || job.metadata.deletionTimestamp !== undefined) return undefined;
    return step("stop-verification", `the verification was given up; Job ${job.metadata.name} is ended`, {
      do: "deleteJob",
      job,
    });
  },
};
