import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { apiVersionOf, type OwnerReference } from "#kube/kinds.ts";

/** The owner reference by which a Job is garbage collected with its EtcdBackup. */
export function ownedBy({ backup }: BackupSnapshot): OwnerReference {
  const { name, uid } = backup.metadata;
  return {
    apiVersion: apiVersionOf(ETCD_BACKUPS),
    kind: ETCD_BACKUPS.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
