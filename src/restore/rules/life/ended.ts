import { logsStayMs } from "#restore/rules/life/clear-jobs.ts";
import { hasEnded } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";

/**
 * Completed and Failed are final: a second restore needs another EtcdRestore. Logs of a failed restore are kept for a
 * while.
 */
export const ended: RestoreRule = {
  name: "ended",
  decide(snapshot) {
    if (!hasEnded(snapshot)) return undefined;
    const leftMs = logsStayMs(snapshot);
    return leftMs > 0 ? { next: "settled", recheckAfterMs: leftMs } : { next: "settled" };
  },
};
