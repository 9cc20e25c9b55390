import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { apiVersionOf, type OwnerReference } from "#kube/kinds.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/** The reference by which the garbage collector deletes a Job with its EtcdRestore. Claims and the cluster never carry it. */
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
