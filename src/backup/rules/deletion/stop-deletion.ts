import { stateOf } from "#agent-job/job-state.ts";
import { deletingPods, isLost } from "#backup/pods.ts";
import { isLeaving, isOwned, mayKeepObject } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step, wait } from "#runtime/decide.ts";

/** Recheck interval in case events are lost, in milliseconds; pods have events of their own. */
const RECHECK_MS = 5_000;

/** Ends the deletion Job when a user keeps the object, before the EtcdBackup is released. */
export const stopDeletion: BackupRule = {
  name: "stop-deletion",
  holds: true,
  decide(snapshot) {
    const { removing } = snapshot;
    if (!isLeaving(snapshot) || !mayKeepObject(snapshot)) return undefined;
    const job = removing !== undefined && isOwned(snapshot, removing.job) ? removing.job : undefined;
    if (job !== undefined && stateOf(job) === "active" && job.metadata.deletionTimestamp === undefined) {
      const because = `Job ${job.metadata.name} is deleted before the EtcdBackup, so that the object stays`;
      return step("stop-deletion", because, { do: "deleteJob", job });
    }
    // A pod on a lost node is ignored: it would block the EtcdBackup forever, and the annotation is the way out.
    const pod = deletingPods(snapshot).find((each) => !isLost(snapshot, each));
    if (pod === undefined) return undefined;
    return wait("stop-deletion", `pod ${pod.metadata.name} is ending; until then it may delete something`, RECHECK_MS);
  },
};
