import { FIRST_BACKUP_ANNOTATION, MANAGED_BY_LABEL, OPERATOR } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { nameOfFirstBackup } from "#cluster/update/first-backup.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";

/**
 * The backup before the first update to a newer minor release, made from the template of the schedule. It has no owner
 * and no retention applies: it stays.
 */
export function firstBackup(snapshot: ClusterSnapshot, { spec }: EtcdBackupSchedule): Draft<EtcdBackup> {
  const { namespace, uid } = snapshot.cluster.metadata;
  const { metadata: added, spec: wanted } = spec.backupTemplate;
  return {
    apiVersion: apiVersionOf(ETCD_BACKUPS),
    kind: ETCD_BACKUPS.kind,
    metadata: {
      namespace,
      name: nameOfFirstBackup(snapshot),
      labels: { ...added?.labels, [MANAGED_BY_LABEL]: OPERATOR },
      annotations: { ...added?.annotations, [FIRST_BACKUP_ANNOTATION]: uid },
    },
    spec: wanted,
  };
}
