import { deletingPods, isLost, stateOf } from "#backup/job-state.ts";
import { isLeaving, isOwned, mayKeepObject } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step, wait } from "#runtime/decide.ts";

/** Its pods' events tell when they have ended; this is for events that never come, in milliseconds. */
const RECHECK_MS = 5_000;

/** Who says that the object may stay while it is being deleted has the Job that does so ended first, before the EtcdBackup goes. */
export const stopDeletion: BackupRule = {
  name: "stop-deletion",
  holds: true,
  decide(snapshot) {
    const { removing } = snapshot;
    if (!isLeaving(snapshot) || !mayKeepObject(snapshot)) return undefined;
    const job = removing !== undefined && isOwned(snapshot, removing.job) ? removing.job : undefined;
    if (job !== undefined && stateOf(job) === "active" && job.metadata.deletionTimestamp === undefined) {
      const because = `Job ${job.metadata.name} is ended before the EtcdBackup goes, so that the object stays`;
      return step("stop-deletion", because, { do: "deleteJob", job });
    }
    // A pod on a node that is lost would hold the EtcdBackup up for ever, and the annotation is the way out of that.
    const pod = deletingPods(snapshot).find((each) => !isLost(snapshot, each));
    if (pod === undefined) return undefined;
    return wait("stop-deletion", `pod ${pod.metadata.name} is ending; until then it may delete something`, RECHECK_MS);
  },
};
