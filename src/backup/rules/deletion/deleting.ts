import { isDeleting } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";

/** Leaves an EtcdBackup alone that can be deleted: the garbage collector deletes its Job, and its object stays. */
export const deleting: BackupRule = {
  name: "deleting",
  decide(snapshot) {
    return isDeleting(snapshot) ? { next: "settled" } : undefined;
  },
};
