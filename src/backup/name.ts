import { type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { controllerOf } from "#kube/kinds.ts";

/** Why the Job's name is taken; `undefined` when it is free or the Job is this backup's. */
export function lackOfName(snapshot: BackupSnapshot): Lack | undefined {
  const { taking } = snapshot;
  if (taking === undefined || isOwned(snapshot, taking.job)) return undefined;
  const owner = controllerOf(taking.job);
  const whose =
    owner === undefined ? "it has no controller" : `its controller is ${owner.kind} ${owner.name} (uid ${owner.uid})`;
  return { reason: "NameTaken", message: `Job ${taking.job.metadata.name} exists already: ${whose}` };
}
