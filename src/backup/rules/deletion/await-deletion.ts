import { letGoText, whyNotDeleted } from "#backup/deletion.ts";
import { isLeaving } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval in case events are lost, in milliseconds; Jobs have events of their own. */
const RECHECK_MS = 10_000;

/** Waits until the object is deleted, and shows what prevents it and how to keep the object instead. */
export const awaitDeletion: BackupRule = {
  name: "await-deletion",
  decide(snapshot) {
    const { removing } = snapshot;
    if (!isLeaving(snapshot)) return undefined;
    const why = whyNotDeleted(snapshot) ?? (removing === undefined ? "no Job can be created for it" : undefined);
    if (why === undefined) return wait("await-deletion", "its object is being deleted", RECHECK_MS);
    return wait("await-deletion", `its object cannot be deleted: ${why}; ${letGoText(snapshot)}`, RECHECK_MS, {
      warn: true,
    });
  },
};
