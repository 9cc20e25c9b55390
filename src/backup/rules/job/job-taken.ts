import { isOwned } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { controllerOf } from "#kube/kinds.ts";
import { wait } from "#runtime/decide.ts";

/** A Job of our name with another owner is never taken over. One of an earlier EtcdBackup of this name is just being deleted. */
export const jobTaken: BackupRule = {
  name: "job-taken",
  decide(snapshot) {
    const { taking } = snapshot;
    if (taking === undefined || isOwned(snapshot, taking.job)) return undefined;
    const owner = controllerOf(taking.job);
    const whose =
      owner === undefined ? "nobody manages it" : `${owner.kind} ${owner.name} (uid ${owner.uid}) manages it`;
    const because = `Job ${taking.job.metadata.name} exists already: ${whose}`;
    return wait("job-taken", because, 2_000, { warn: true });
  },
};
