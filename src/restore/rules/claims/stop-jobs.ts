import { stateOf } from "#agent-job/job-state.ts";
import { fillingOf } from "#restore/pods.ts";
import { isGivenUp } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Ends the Jobs of a restore that was given up before its claims are deleted. A Job that failed is kept for a while for
 * its log.
 */
export const stopJobs: RestoreRule = {
  name: "stop-jobs",
  holds: true,
  decide(snapshot) {
    if (!isGivenUp(snapshot)) return undefined;
    const job = snapshot.members
      .map((member) => fillingOf(snapshot, member)?.job)
      .find(
        (each) => each !== undefined && stateOf(each) === "active" && each.metadata.deletionTimestamp === undefined,
      );
    if (job === undefined) return undefined;
    return step("stop-jobs", `the restore was given up; Job ${job.metadata.name} is ended`, { do: "deleteJob", job });
  },
};
