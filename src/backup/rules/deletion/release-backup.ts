import { type Attempted, reportOf, stateOf } from "#agent-job/job-state.ts";
import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { isNothingStored } from "#backup/pods.ts";
import { type BackupSnapshot, isLeaving, isOwned, mayKeepObject } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Releases the EtcdBackup when its object is deleted, when no pod can have stored one, or when a user keeps the object.
 */
export const releaseBackup: BackupRule = {
  name: "release-backup",
  decide(snapshot) {
    if (!isLeaving(snapshot)) return undefined;
    const because = whyReleased(snapshot);
    return because === undefined ? undefined : step("release-backup", because, { do: "releaseBackup" });
  },
};

function whyReleased(snapshot: BackupSnapshot): string | undefined {
  const { removing } = snapshot;
  const deleted = removing === undefined ? undefined : whyDeleted(snapshot, removing);
  if (deleted !== undefined) return deleted;
  if (mayKeepObject(snapshot))
    return `the annotation ${KEEP_OBJECT_ANNOTATION} is "true": the object stays, except for what is deleted already`;
  return isNothingStored(snapshot) ? "nothing was ever stored" : undefined;
}

function whyDeleted(snapshot: BackupSnapshot, removing: Attempted): string | undefined {
  if (!isOwned(snapshot, removing.job)) return undefined;
  const state = stateOf(removing.job);
  if (state === "succeeded") return "its object is deleted";
  const report = state === "failed" ? reportOf(removing) : undefined;
  const isGone = report?.ok === false && report.reason === "NoSuchBucket";
  return isGone ? `its object is gone together with its bucket: ${report.message}` : undefined;
}
