import { isDeleting } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";

/** An EtcdBackup that may go is left alone: the garbage collector takes its Job, and its object stays. */
export const deleting: BackupRule = {
  name: "deleting",
  decide(snapshot) {
    return isDeleting(snapshot) ? { next: "settled" } : undefined;
  },
};
