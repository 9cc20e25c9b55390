import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { apiVersionOf, type OwnerReference } from "#kube/kinds.ts";

/** The reference by which the garbage collector deletes the object with its cluster. */
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
