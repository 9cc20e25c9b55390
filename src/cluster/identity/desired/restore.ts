import { clusterLabels } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_RESTORES, type EtcdRestore } from "#api/v1beta1/restore.ts";
import { ownedBy } from "#cluster/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";

export type FromBackup = NonNullable<NonNullable<EtcdCluster["spec"]["bootstrap"]>["fromBackup"]>;

/**
 * The EtcdRestore with which the cluster starts from a stored snapshot. It has the cluster's name, and creates claims
 * for this spec.
 */
export function restoreFor(snapshot: ClusterSnapshot, from: FromBackup): Draft<EtcdRestore> {
  const { metadata, spec } = snapshot.cluster;
  const { bootstrap: _, ...template } = spec;
  return {
    apiVersion: apiVersionOf(ETCD_RESTORES),
    kind: ETCD_RESTORES.kind,
    metadata: {
      namespace: metadata.namespace,
      name: metadata.name,
      labels: clusterLabels(metadata.name),
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: { ...from, clusterTemplate: { clusterName: metadata.name, spec: template } },
  };
}
