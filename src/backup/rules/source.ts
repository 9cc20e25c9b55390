import { lackOfClaim } from "#backup/claim.ts";
import { lackOfSource } from "#backup/source.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval in case events are lost, in milliseconds; the cluster has events of its own. */
const AWAIT_SOURCE_RECHECK_MS = 10_000;

/** Waits for a cluster that is missing, has not formed, or has no quorum. The wait is limited by PATIENCE_MS. */
export const awaitSource: BackupRule = {
  name: "await-source",
  decide(snapshot) {
    if (snapshot.taking !== undefined) return undefined;
    const lack = lackOfSource(snapshot);
    return lack === undefined ? undefined : wait(lack.message, AWAIT_SOURCE_RECHECK_MS, { warn: true });
  },
};

/** Recheck interval for the label of the claim, which has no watch, in milliseconds. */
const AWAIT_CLAIM_RECHECK_MS = 10_000;

/** Waits until the claim is labelled as a backup destination. The wait is limited by PATIENCE_MS. */
export const awaitClaim: BackupRule = {
  name: "await-claim",
  decide(snapshot) {
    if (snapshot.taking !== undefined) return undefined;
    const lack = lackOfClaim(snapshot);
    return lack === undefined ? undefined : wait(lack.message, AWAIT_CLAIM_RECHECK_MS, { warn: true });
  },
};
