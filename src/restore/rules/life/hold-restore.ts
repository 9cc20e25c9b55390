import { isComplete, isHeld } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/** A finalizer keeps the EtcdRestore until none of its claims is left half filled. It is there before the first claim is. */
export const holdRestore: RestoreRule = {
  name: "hold-restore",
  holds: true,
  decide(snapshot) {
    if (isHeld(snapshot) || isComplete(snapshot)) return undefined;
    return step("hold-restore", "it stays until its claims are filled or deleted", { do: "holdRestore" });
  },
};
