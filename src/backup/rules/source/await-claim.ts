import { lackOfClaim } from "#backup/claim.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** Nobody tells of a label of a claim, so it is looked for, in milliseconds. */
const RECHECK_MS = 10_000;

/** No pod mounts a claim that does not say by its label that backups may lie there: it is waited for, though not for ever. */
export const awaitClaim: BackupRule = {
  name: "await-claim",
  decide(snapshot) {
    if (snapshot.taking !== undefined) return undefined;
    const lack = lackOfClaim(snapshot);
    return lack === undefined ? undefined : wait("await-claim", lack.message, RECHECK_MS, { warn: true });
  },
};
