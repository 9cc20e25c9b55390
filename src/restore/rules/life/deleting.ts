import { isDeleting } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";

/** Leaves an EtcdRestore alone that can be deleted: the garbage collector deletes its Jobs. */
export const deleting: RestoreRule = {
  name: "deleting",
  decide(snapshot) {
    return isDeleting(snapshot) ? { next: "settled" } : undefined;
  },
};
