import { isHeld } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Sets a finalizer when spec.deletionPolicy is Delete: it keeps the EtcdBackup until its object is deleted. It is set
 * before any object can exist.
 */
export const holdBackup: BackupRule = {
  name: "hold-backup",
  holds: true,
  decide(snapshot) {
    if (snapshot.backup.spec.deletionPolicy !== "Delete" || isHeld(snapshot)) return undefined;
    const because = "spec.deletionPolicy is Delete: the EtcdBackup is kept until its object is deleted";
    return step("hold-backup", because, { do: "holdBackup" });
  },
};
