import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { apiVersionOf, type OwnerReference } from "#kube/kinds.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/**
 * The owner reference by which a Job is garbage collected with its EtcdRestore. Claims and the cluster never carry it.
 */
export function ownedBy({ restore }: RestoreSnapshot): OwnerReference {
  const { name, uid } = restore.metadata;
  return {
    apiVersion: apiVersionOf(ETCD_RESTORES),
    kind: ETCD_RESTORES.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
