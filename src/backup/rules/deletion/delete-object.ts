import { lackOfClaim } from "#backup/claim.ts";
import { deletionJob } from "#backup/desired/job.ts";
import { isLeaving } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { step } from "#runtime/decide.ts";

/**
 * A Job deletes the object with the credentials of the backup. It deletes only objects with the uid of this EtcdBackup.
 */
export const deleteObject: BackupRule = {
  name: "delete-object",
  decide(snapshot) {
    const { removing, agentImage } = snapshot;
    if (!isLeaving(snapshot) || removing !== undefined || agentImage === undefined) return undefined;
    if (lackOfClaim(snapshot) !== undefined) return undefined;
    const target = targetOf(snapshot);
    if (typeof target === "string") return undefined;
    const because = `${target.url} is deleted before the EtcdBackup`;
    return step("delete-object", because, { do: "createDeletionJob", job: deletionJob(snapshot, target, agentImage) });
  },
};
