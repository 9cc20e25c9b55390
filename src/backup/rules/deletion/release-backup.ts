import { KEEP_OBJECT_ANNOTATION } from "#api/names.ts";
import { isNothingStored, reportOf, stateOf } from "#backup/job-state.ts";
import { type Attempted, type BackupSnapshot, isLeaving, isOwned, mayKeepObject } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/** An EtcdBackup goes when its object is gone, when no pod has ever run that could have stored one, or when a person says so. */
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
    return `the annotation ${KEEP_OBJECT_ANNOTATION} is "true": the object stays, but for what had been deleted by then`;
  return isNothingStored(snapshot) ? "nothing was ever stored" : undefined;
}

function whyDeleted(snapshot: BackupSnapshot, removing: Attempted): string | undefined {
  if (!isOwned(snapshot, removing.job)) return undefined;
  const state = stateOf(removing.job);
  if (state === "succeeded") return "its object is deleted";
  const report = state === "failed" ? reportOf(removing) : undefined;
  const isGone = report?.ok === false && report.reason === "NoSuchBucket";
  return isGone ? `its object is gone with all that it lay in: ${report.message}` : undefined;
}
