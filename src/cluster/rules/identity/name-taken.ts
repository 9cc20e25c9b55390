import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { controllerOf, type KubeObject } from "#kube/kinds.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Objects of our names that another owner manages are never taken over. Those of a cluster of the same name that is just
 * being deleted go away by themselves.
 */
export const nameTaken: ClusterRule = {
  name: "name-taken",
  decide(snapshot) {
    const foreign = ours(snapshot).find((object) => !isOwned(snapshot, object));
    if (foreign === undefined) return undefined;
    const owner = controllerOf(foreign);
    const whose =
      owner === undefined ? "nobody manages it" : `${owner.kind} ${owner.name} (uid ${owner.uid}) manages it`;
    const because = `${foreign.kind} ${foreign.metadata.name} exists already and is not this cluster's: ${whose}; delete it or choose another name`;
    return wait("name-taken", because, 2_000, { warn: true });
  },
};

function ours(snapshot: ClusterSnapshot): readonly KubeObject[] {
  const singles: readonly (KubeObject | undefined)[] = [
    snapshot.headlessService,
    snapshot.clientService,
    snapshot.budget,
  ];
  return [...singles.filter((object) => object !== undefined), ...snapshot.peers];
}
