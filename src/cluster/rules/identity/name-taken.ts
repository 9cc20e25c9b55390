import { type ClusterSnapshot, identityOf, isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { controllerOf, type KubeObject } from "#kube/kinds.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Objects of our names that another owner manages are never taken over. Those of a cluster of the same name that is just
 * being deleted go away by themselves. This is asked before anything is made; a name that somebody takes later hinders only the
 * rule that needs it.
 */
export const nameTaken: ClusterRule = {
  name: "name-taken",
  decide(snapshot) {
    if (identityOf(snapshot) !== undefined) return undefined;
    const foreign = ours(snapshot).find((object) => !isOwned(snapshot, object));
    if (foreign === undefined) return undefined;
    return wait("name-taken", `${takenText(foreign)} or choose another name`, 2_000, { warn: true });
  },
};

/** Who has the name, and what a person can do about it. */
export function takenText(foreign: KubeObject): string {
  const owner = controllerOf(foreign);
  const whose = owner === undefined ? "nobody manages it" : `${owner.kind} ${owner.name} (uid ${owner.uid}) manages it`;
  return `${foreign.kind} ${foreign.metadata.name} exists already and is not this cluster's: ${whose}; delete it`;
}

function ours(snapshot: ClusterSnapshot): readonly KubeObject[] {
  const singles: readonly (KubeObject | undefined)[] = [
    snapshot.headlessService,
    snapshot.clientService,
    snapshot.budget,
  ];
  return [...singles.filter((object) => object !== undefined), ...snapshot.foreignPeers];
}
