import { archiveBackupName, SCHEDULE_UID_ANNOTATION, scheduledBackupLabels, scheduledBackupName } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";

/** The EtcdBackup that archives changes; undefined when nobody wants them. It has no owner either. */
export function archiveFor({ metadata, spec }: EtcdBackupSchedule): Draft<EtcdBackup> | undefined {
  if (spec.archive === undefined) return undefined;
  // What is archived goes when it is old enough, and not with an EtcdBackup.
  const { activeDeadlineSeconds: _, ...template } = spec.backupTemplate;
  return {
    apiVersion: apiVersionOf(ETCD_BACKUPS),
    kind: ETCD_BACKUPS.kind,
    metadata: {
      namespace: metadata.namespace,
      name: archiveBackupName(metadata.name),
      labels: scheduledBackupLabels(metadata.name),
      annotations: { [SCHEDULE_UID_ANNOTATION]: metadata.uid },
    },
    spec: { ...template, objectPolicy: "Keep", verify: false, archive: spec.archive },
  };
}

/**
 * The EtcdBackup of a run. It has no owner, so it stays when the schedule is deleted.
 * @param made how many runs there were before
 */
export function backupFor({ metadata, spec }: EtcdBackupSchedule, dueMs: number, made: number): Draft<EtcdBackup> {
  const { verifyEvery, backupTemplate } = spec;
  const isVerified = verifyEvery !== undefined && made % verifyEvery === 0;
  return {
    apiVersion: apiVersionOf(ETCD_BACKUPS),
    kind: ETCD_BACKUPS.kind,
    metadata: {
      namespace: metadata.namespace,
      name: scheduledBackupName(metadata.name, dueMs),
      labels: scheduledBackupLabels(metadata.name),
      annotations: { [SCHEDULE_UID_ANNOTATION]: metadata.uid },
    },
    spec: { ...backupTemplate, ...(isVerified ? { verify: true } : {}) },
  };
}
