import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { isOurs } from "#cluster-tls/read/usable.ts";
import type { KubeObject } from "#kube/kinds.ts";

/** Objects with another owner are never changed. */
export const ownOnly: ClusterGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    const facts = "facts" in step ? step.facts : undefined;
    if (facts !== undefined && !isOurs(snapshot, facts)) return `Secret ${facts.secretName} is not this cluster's`;
    const other = storedIn(step).find((object) => !isOwned(snapshot, object));
    return other && `${other.kind} ${other.metadata.name} is not this cluster's`;
  },
};

/** The stored objects that the step changes. A draft has no uid yet; a member's pod belongs to its ReplicaSet. */
function storedIn(step: ClusterStep): readonly KubeObject[] {
  if (hasTrait(step, "remakesPod", true)) return [];
  return Object.values(step).filter((value): value is KubeObject => value?.metadata?.uid !== undefined);
}
