import { hasEnded } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";

/** Completed and Failed are final: a second backup needs another EtcdBackup. */
export const ended: BackupRule = {
  name: "ended",
  decide(snapshot) {
    return hasEnded(snapshot) ? { next: "settled" } : undefined;
  },
};
