import { hasEnded, isDeleting, isHeld } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/** Our finalizer goes when no claim is left that holds nobody's data: then the EtcdRestore may go at any time. */
export const releaseRestore: RestoreRule = {
  name: "release-restore",
  decide(snapshot) {
    if (!isHeld(snapshot) || !(hasEnded(snapshot) || isDeleting(snapshot))) return undefined;
    return step("release-restore", "no claim is left that holds nobody's data", { do: "releaseRestore" });
  },
};
