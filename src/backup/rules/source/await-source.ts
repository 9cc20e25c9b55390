import { lackOfSource } from "#backup/source.ts";
import type { BackupRule } from "#backup/step.ts";
import { wait } from "#runtime/decide.ts";

/** The cluster's events tell when it has formed or come back; this is for events that never come, in milliseconds. */
const RECHECK_MS = 10_000;

/** No snapshot is taken of a cluster that is not there, has not formed, or has no quorum: it is waited for, though not for ever. */
export const awaitSource: BackupRule = {
  name: "await-source",
  decide(snapshot) {
    if (snapshot.taking !== undefined) return undefined;
    const lack = lackOfSource(snapshot);
    return lack === undefined ? undefined : wait("await-source", lack.message, RECHECK_MS, { warn: true });
  },
};
