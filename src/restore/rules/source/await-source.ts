import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { isStarted, lackBefore } from "#restore/verdict.ts";
import { wait } from "#runtime/decide.ts";

/** An EtcdBackup's events tell when it has ended; nobody tells of a label of a claim, so it is looked for, in milliseconds. */
const RECHECK_MS = 10_000;

/** Nothing is made while the EtcdBackup is under way or missing, or its claim may not be mounted: it is waited for, though not for ever. */
export const awaitSource: RestoreRule = {
  name: "await-source",
  decide(snapshot) {
    if (isComplete(snapshot) || isStarted(snapshot)) return undefined;
    const lack = lackBefore(snapshot);
    if (lack === undefined) return undefined;
    return wait("await-source", lack.message, RECHECK_MS, { warn: lack.reason !== "BackupNotCompleted" });
  },
};
