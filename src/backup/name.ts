import { type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { controllerText } from "#kube/kinds.ts";

/** Why the Job's name is taken; `undefined` when it is free or the Job is this backup's. */
export function lackOfName(snapshot: BackupSnapshot): Lack | undefined {
  const { taking } = snapshot;
  if (taking === undefined || isOwned(snapshot, taking.job)) return undefined;
  const { job } = taking;
  return { reason: "NameTaken", message: `Job ${job.metadata.name} exists already: ${controllerText(job)}` };
}
