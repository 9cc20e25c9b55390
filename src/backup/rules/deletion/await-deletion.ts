import { letGoText, whyNotDeleted } from "#backup/deletion.ts";
import { isLeaving } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** The Job's events tell when it has ended; this is for events that never come, in milliseconds. */
const RECHECK_MS = 10_000;

/** The EtcdBackup stays until its object is deleted. What hinders it is told, and how to go without. */
export const awaitDeletion: BackupRule = {
  name: "await-deletion",
  decide(snapshot) {
    const { removing } = snapshot;
    if (!isLeaving(snapshot)) return undefined;
    const why = whyNotDeleted(snapshot) ?? (removing === undefined ? "no Job can be made for it" : undefined);
    if (why === undefined) return wait("await-deletion", "its object is being deleted", RECHECK_MS);
    return wait("await-deletion", `its object is not deleted: ${why}; ${letGoText(snapshot)}`, RECHECK_MS, {
      warn: true,
    });
  },
};
