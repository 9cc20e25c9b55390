import { lackOfName } from "#backup/name.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval for a foreign Job, in milliseconds; Jobs of an earlier EtcdBackup have events of their own. */
const RECHECK_MS = 10_000;

/**
 * Waits while a Job with another owner has the name; it is never adopted. A Job of an earlier EtcdBackup of this name
 * is being deleted.
 */
export const jobTaken: BackupRule = {
  name: "job-taken",
  decide(snapshot) {
    const lack = lackOfName(snapshot);
    return lack === undefined ? undefined : wait("job-taken", lack.message, RECHECK_MS, { warn: true });
  },
};
