import { isDeleting } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";

/** An EtcdRestore that may go is left alone: the garbage collector takes its Jobs. */
export const deleting: RestoreRule = {
  name: "deleting",
  decide(snapshot) {
    return isDeleting(snapshot) ? { next: "settled" } : undefined;
  },
};
