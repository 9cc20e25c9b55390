import { backupJob } from "#backup/desired/job.ts";
import { sourceText } from "#backup/source.ts";
import type { BackupRule } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { step } from "#runtime/decide.ts";

/**
 * Creates the Job that takes the snapshot; it retries when its pod is lost. A Job that a user deleted is created again:
 * its agent continues from what is stored.
 */
export const createJob: BackupRule = {
  name: "create-job",
  decide(snapshot) {
    const { taking, agentImage } = snapshot;
    const target = targetOf(snapshot);
    if (taking !== undefined || agentImage === undefined || typeof target === "string") return undefined;
    const because = `a snapshot of ${sourceText(snapshot)} is taken, and stored as ${target.url}`;
    return step("create-job", because, { do: "createJob", job: backupJob(snapshot, target, agentImage) });
  },
};
