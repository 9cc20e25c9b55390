import { stateOf } from "#backup/job-state.ts";
import { isToBeRenewed, otherReach } from "#backup/reach.ts";
import { lackOfSource } from "#backup/source.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * A Job whose cluster has gone over to TLS, back from it, or to another provider of certificates is ended, and one that reaches it takes its place. An archive goes
 * on there where it had come to; a snapshot that is being taken is left to it, and taken anew only when that has failed.
 */
export const renewJob: BackupRule = {
  name: "renew-job",
  decide(snapshot) {
    const { taking } = snapshot;
    if (taking === undefined || taking.job.metadata.deletionTimestamp !== undefined) return undefined;
    if (!isToBeRenewed(snapshot, taking)) return undefined;
    // What is there is not given up for what cannot be made now.
    if (stateOf(taking.job) === "active" && lackOfSource(snapshot) !== undefined) return undefined;
    const because = `Job ${taking.job.metadata.name} is made anew: ${otherReach(snapshot)}`;
    return step("renew-job", because, { do: "deleteJob", job: taking.job });
  },
};
