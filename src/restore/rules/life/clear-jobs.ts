import { fillingOf } from "#restore/pods.ts";
import { hasEnded, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * How long the Jobs of a restore that has failed stay, in milliseconds, so that people find the logs of their pods: the status says why it
 * failed, and what else there was to see, they. Too large, and claims that are to go are there for as long.
 */
export const LOGS_MS = 5 * 60_000;

/** A claim does not go while there is a pod that has it mounted, even one that has ended: so the Jobs of a restore that has ended go. */
export const clearJobs: RestoreRule = {
  name: "clear-jobs",
  decide(snapshot) {
    if (!hasEnded(snapshot) || logsStayMs(snapshot) > 0) return undefined;
    const job = snapshot.members
      .map((member) => fillingOf(snapshot, member)?.job)
      .find((each) => each !== undefined && each.metadata.deletionTimestamp === undefined);
    if (job === undefined) return undefined;
    const because = `the restore has ended; Job ${job.metadata.name} goes, whose pods hold claims`;
    return step("clear-jobs", because, { do: "deleteJob", job });
  },
};

/** How much longer the Jobs stay, in milliseconds; not above 0, or no number: no longer. */
export function logsStayMs({ restore, takenAtMs }: RestoreSnapshot): number {
  const { phase, completionTime = "" } = restore.status ?? {};
  if (phase === "Completed") return 0;
  return Date.parse(completionTime) + LOGS_MS - takenAtMs;
}
