import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { apiVersionOf, controllerOf, type KubeObject, type OwnerReference } from "#kube/kinds.ts";
import type { ClusterSnapshot } from "./snapshot.ts";

/** The owner reference by which the garbage collector deletes the object with its cluster. */
export function ownedBy(snapshot: ClusterSnapshot): OwnerReference {
  const { name, uid } = snapshot.cluster.metadata;
  return {
    apiVersion: apiVersionOf(ETCD_CLUSTERS),
    kind: ETCD_CLUSTERS.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * A sentence about an object that has one of the cluster's names and another owner. It states the owner and what to do.
 */
export function takenText(foreign: KubeObject): string {
  const owner = controllerOf(foreign);
  const what =
    owner === undefined ? "it has no controller" : `${owner.kind} ${owner.name} (uid ${owner.uid}) manages it`;
  return `${foreign.kind} ${foreign.metadata.name} exists already and is not this cluster's: ${what}; delete it`;
}
