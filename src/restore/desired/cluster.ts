import { ownerlessLabels, RESTORED_FROM } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";
import { restoredSpec } from "#restore/identity.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/**
 * The cluster that adopts the filled claims, like any cluster created under a name with claims left. It has no owner:
 * it outlives the EtcdRestore.
 */
export function restoredCluster({ restore }: RestoreSnapshot): Draft<EtcdCluster> {
  const { namespace, uid } = restore.metadata;
  const { clusterName } = restore.spec.clusterTemplate;
  return {
    apiVersion: apiVersionOf(ETCD_CLUSTERS),
    kind: ETCD_CLUSTERS.kind,
    metadata: {
      namespace,
      name: clusterName,
      labels: ownerlessLabels(clusterName),
      annotations: { [RESTORED_FROM]: uid },
    },
    spec: restoredSpec(restore),
  };
}
