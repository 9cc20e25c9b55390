import { isComplete, isHeld } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * A finalizer keeps the EtcdRestore until no half-filled claim is left. It is set before the first claim is created.
 */
export const holdRestore: RestoreRule = {
  name: "hold-restore",
  holds: true,
  decide(snapshot) {
    if (isHeld(snapshot) || isComplete(snapshot)) return undefined;
    return step("hold-restore", "the EtcdRestore is kept until its claims are filled or deleted", {
      do: "holdRestore",
    });
  },
};
