import { stateOf } from "#agent-job/job-state.ts";
import { letGoText, whyNotDeleted } from "#backup/deletion.ts";
import { isLost, isNothingStored, storingPods } from "#backup/pods.ts";
import { isLeaving, isOwned, mayKeepObject } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step, wait } from "#runtime/decide.ts";

/** Recheck interval in case events are lost, in milliseconds; pods have events of their own. */
const RECHECK_MS = 5_000;
/** Recheck interval, in milliseconds: the status is written now, and its event wakes this controller. */
const NOTED_RECHECK_MS = 1_000;

/**
 * Ends the Job of a running EtcdBackup that is being deleted, before its object is deleted: a running agent would store
 * it again.
 */
export const stopBackup: BackupRule = {
  name: "stop-backup",
  decide(snapshot) {
    const { taking } = snapshot;
    if (!isLeaving(snapshot) || mayKeepObject(snapshot)) return undefined;
    const job = taking !== undefined && isOwned(snapshot, taking.job) ? taking.job : undefined;
    const { jobName, nothingStored } = snapshot.backup.status ?? {};
    if (nothingStored === true && !isNothingStored(snapshot))
      return wait(
        "stop-backup",
        "before its Job is deleted, the status must record that its agent has run",
        NOTED_RECHECK_MS,
      );
    if (job !== undefined && stateOf(job) === "active" && job.metadata.deletionTimestamp === undefined) {
      // Otherwise the next observation finds neither Job nor pods, and concludes that nothing was stored.
      if (jobName === undefined)
        return wait(
          "stop-backup",
          "before its Job is deleted, the status must record that it was created",
          NOTED_RECHECK_MS,
        );
      const because = `Job ${job.metadata.name} is deleted before its object`;
      return step("stop-backup", because, { do: "deleteJob", job });
    }
    const [pod] = storingPods(snapshot);
    if (pod === undefined) return undefined;
    const why = isLost(snapshot, pod) ? whyNotDeleted(snapshot) : undefined;
    if (why !== undefined) {
      const because = `its object cannot be deleted: ${why}; ${letGoText(snapshot)}`;
      return wait("stop-backup", because, RECHECK_MS, { warn: true });
    }
    return wait(
      "stop-backup",
      `pod ${pod.metadata.name} is ending; until it has ended it may store an object`,
      RECHECK_MS,
    );
  },
};
