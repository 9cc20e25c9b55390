import { hasEnded, isDeleting, isHeld } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/** Removes the operator's finalizer once no unused claim is left: then the EtcdRestore can be deleted at any time. */
export const releaseRestore: RestoreRule = {
  name: "release-restore",
  decide(snapshot) {
    if (!isHeld(snapshot) || !(hasEnded(snapshot) || isDeleting(snapshot))) return undefined;
    return step("release-restore", "no unused claim is left", { do: "releaseRestore" });
  },
};
