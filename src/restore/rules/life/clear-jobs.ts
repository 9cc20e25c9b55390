import { fillingOf } from "#restore/pods.ts";
import { hasEnded, type RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * How long the Jobs of a failed restore are kept, in milliseconds, so that users can read the pods' logs. If too large,
 * unused claims stay as long, since a pod keeps its claim.
 */
export const LOGS_MS = 5 * 60_000;

/** Deletes the Jobs of a restore that has ended: a claim cannot be deleted while a pod uses it, even a finished pod. */
export const clearJobs: RestoreRule = {
  name: "clear-jobs",
  decide(snapshot) {
    if (!hasEnded(snapshot) || logsStayMs(snapshot) > 0) return undefined;
    const job = snapshot.members
      .map((member) => fillingOf(snapshot, member)?.job)
      .find((each) => each !== undefined && each.metadata.deletionTimestamp === undefined);
    if (job === undefined) return undefined;
    const because = `the restore has ended; Job ${job.metadata.name} is deleted, since its pods hold claims`;
    return step("clear-jobs", because, { do: "deleteJob", job });
  },
};

/** Time for which the Jobs are still kept, in milliseconds; 0, negative or NaN: no longer. */
export function logsStayMs({ restore, takenAtMs }: RestoreSnapshot): number {
  const { phase, completionTime = "" } = restore.status ?? {};
  if (phase === "Completed") return 0;
  return Date.parse(completionTime) + LOGS_MS - takenAtMs;
}
