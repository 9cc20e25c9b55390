import { lackOfSource } from "#backup/source.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval in case events are lost, in milliseconds; the cluster has events of its own. */
const RECHECK_MS = 10_000;

/** Waits for a cluster that is missing, has not formed, or has no quorum. The wait is limited by PATIENCE_MS. */
export const awaitSource: BackupRule = {
  name: "await-source",
  decide(snapshot) {
    if (snapshot.taking !== undefined) return undefined;
    const lack = lackOfSource(snapshot);
    return lack === undefined ? undefined : wait("await-source", lack.message, RECHECK_MS, { warn: true });
  },
};
