import { letGoText, whyNotDeleted } from "#backup/deletion.ts";
import { isLost, isNothingStored, stateOf, storingPods } from "#backup/job-state.ts";
import { isLeaving, isOwned, mayKeepObject } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step, wait } from "#runtime/decide.ts";

/** Its pods' events tell when they have ended; this is for events that never come, in milliseconds. */
const RECHECK_MS = 5_000;
/** The event of the status that says so wakes this room; in milliseconds. */
const NOTED_RECHECK_MS = 1_000;

/** Who deletes an EtcdBackup that is under way has its Job ended first: an agent that goes on would store what was deleted just before. */
export const stopBackup: BackupRule = {
  name: "stop-backup",
  decide(snapshot) {
    const { taking } = snapshot;
    if (!isLeaving(snapshot) || mayKeepObject(snapshot)) return undefined;
    const job = taking !== undefined && isOwned(snapshot, taking.job) ? taking.job : undefined;
    const { jobName, nothingStored } = snapshot.backup.status ?? {};
    if (nothingStored === true && !isNothingStored(snapshot))
      return wait("stop-backup", "that its agent has run is written down before its Job is ended", NOTED_RECHECK_MS);
    if (job !== undefined && stateOf(job) === "active" && job.metadata.deletionTimestamp === undefined) {
      // Without it whoever comes next would find neither Job nor pods, and take it that nothing was ever stored.
      if (jobName === undefined)
        return wait("stop-backup", "that its Job was made is written down before it is ended", NOTED_RECHECK_MS);
      const because = `Job ${job.metadata.name} is ended before its object is deleted`;
      return step("stop-backup", because, { do: "deleteJob", job });
    }
    const [pod] = storingPods(snapshot);
    if (pod === undefined) return undefined;
    const why = isLost(snapshot, pod) ? whyNotDeleted(snapshot) : undefined;
    if (why !== undefined) {
      const because = `its object is not deleted: ${why}; ${letGoText(snapshot)}`;
      return wait("stop-backup", because, RECHECK_MS, { warn: true });
    }
    return wait("stop-backup", `pod ${pod.metadata.name} is ending; until then it may store something`, RECHECK_MS);
  },
};
