import { isHeld } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/** A finalizer keeps the EtcdBackup until its object is deleted, if that is what people want. It is there before any object can be. */
export const holdBackup: BackupRule = {
  name: "hold-backup",
  holds: true,
  decide(snapshot) {
    if (snapshot.backup.spec.objectPolicy !== "Delete" || isHeld(snapshot)) return undefined;
    const because = "spec.objectPolicy is Delete: it stays until its object is deleted";
    return step("hold-backup", because, { do: "holdBackup" });
  },
};
