import { stateOf } from "#agent-job/job-state.ts";
import { isToBeRenewed, otherReach } from "#backup/reach.ts";
import { lackOfSource } from "#backup/source.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Replaces a Job when the cluster has switched to or from TLS, or to another certificate provider. An archive continues
 * where it was; a running snapshot is left alone, and taken again only if it fails.
 */
export const renewJob: BackupRule = {
  name: "renew-job",
  decide(snapshot) {
    const { taking } = snapshot;
    if (taking === undefined || taking.job.metadata.deletionTimestamp !== undefined) return undefined;
    if (!isToBeRenewed(snapshot, taking)) return undefined;
    // An existing Job is not deleted for a new one that cannot be created.
    if (stateOf(taking.job) === "active" && lackOfSource(snapshot) !== undefined) return undefined;
    const because = `Job ${taking.job.metadata.name} is replaced: ${otherReach(snapshot)}`;
    return step("renew-job", because, { do: "deleteJob", job: taking.job });
  },
};
