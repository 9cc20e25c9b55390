import { logsStayMs } from "#restore/rules/life/clear-jobs.ts";
import { hasEnded } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";

/** Completed and Failed are for ever: another restore is another EtcdRestore. Logs of one that has failed stay for a while. */
export const ended: RestoreRule = {
  name: "ended",
  decide(snapshot) {
    if (!hasEnded(snapshot)) return undefined;
    const leftMs = logsStayMs(snapshot);
    return leftMs > 0 ? { next: "settled", recheckAfterMs: leftMs } : { next: "settled" };
  },
};
