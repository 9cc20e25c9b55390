import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { isStarted, lackBefore } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Recheck interval for the label of the claim, which has no watch, in milliseconds. An EtcdBackup has events of its
 * own.
 */
const RECHECK_MS = 10_000;

/**
 * Waits while the EtcdBackup is running or missing, or its claim must not be mounted. The wait is limited by
 * PATIENCE_MS.
 */
export const awaitSource: RestoreRule = {
  name: "await-source",
  decide(snapshot) {
    if (isComplete(snapshot) || isStarted(snapshot)) return undefined;
    const lack = lackBefore(snapshot);
    if (lack === undefined) return undefined;
    return wait("await-source", lack.message, RECHECK_MS, { warn: lack.reason !== "BackupNotCompleted" });
  },
};
