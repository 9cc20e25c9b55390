import { lackOfName } from "#backup/name.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** The events of a Job of an earlier EtcdBackup tell when it has gone; this is for one of somebody else, in milliseconds. */
const RECHECK_MS = 10_000;

/** A Job of our name with another owner is never taken over. One of an earlier EtcdBackup of this name is just being deleted. */
export const jobTaken: BackupRule = {
  name: "job-taken",
  decide(snapshot) {
    const lack = lackOfName(snapshot);
    return lack === undefined ? undefined : wait("job-taken", lack.message, RECHECK_MS, { warn: true });
  },
};
