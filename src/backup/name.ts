import { type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";
import { controllerOf } from "#kube/kinds.ts";

/** Who has the name of the Job, when it is not this backup; `undefined` when nobody else has it. */
export function lackOfName(snapshot: BackupSnapshot): Lack | undefined {
  const { taking } = snapshot;
  if (taking === undefined || isOwned(snapshot, taking.job)) return undefined;
  const owner = controllerOf(taking.job);
  const whose = owner === undefined ? "nobody manages it" : `${owner.kind} ${owner.name} (uid ${owner.uid}) manages it`;
  return { reason: "NameTaken", message: `Job ${taking.job.metadata.name} exists already: ${whose}` };
}
