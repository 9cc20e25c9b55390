import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { controllerText, type KubeObject, type OwnerReference, ownerReference } from "#kube/kinds.ts";
import type { ClusterSnapshot } from "./snapshot.ts";

/** The owner reference by which the garbage collector deletes the object with its cluster. */
export function ownedBy(snapshot: ClusterSnapshot): OwnerReference {
  return ownerReference(ETCD_CLUSTERS, snapshot.cluster);
}

/** A sentence about an object that has one of the cluster's names and another owner, or none. */
export function takenText(foreign: KubeObject): string {
  const { kind, metadata } = foreign;
  return `${kind} ${metadata.name} exists already and is not this cluster's: ${controllerText(foreign)}; delete it`;
}
