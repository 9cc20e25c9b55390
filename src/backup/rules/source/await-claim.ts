import { lackOfClaim } from "#backup/claim.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval for the label of the claim, which has no watch, in milliseconds. */
const RECHECK_MS = 10_000;

/** Waits until the claim is labelled as a backup destination. The wait is limited by PATIENCE_MS. */
export const awaitClaim: BackupRule = {
  name: "await-claim",
  decide(snapshot) {
    if (snapshot.taking !== undefined) return undefined;
    const lack = lackOfClaim(snapshot);
    return lack === undefined ? undefined : wait("await-claim", lack.message, RECHECK_MS, { warn: true });
  },
};
