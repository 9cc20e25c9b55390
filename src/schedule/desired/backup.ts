import { isToVerify } from "#api/defect.ts";
import { archiveBackupName, SCHEDULE_UID_ANNOTATION, scheduledBackupLabels, scheduledBackupName } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";
import { isGood, isSettled, type ScheduleSnapshot } from "#schedule/snapshot.ts";

/** The EtcdBackup that archives changes; undefined without spec.archive. It has no owner. */
export function archiveFor({ metadata, spec }: EtcdBackupSchedule): Draft<EtcdBackup> | undefined {
  if (spec.archive === undefined) return undefined;
  // Archived changes are deleted by age, not with their EtcdBackup.
  const { activeDeadlineSeconds: _, ...template } = spec.backupTemplate.spec;
  return {
    apiVersion: apiVersionOf(ETCD_BACKUPS),
    kind: ETCD_BACKUPS.kind,
    metadata: { ...templateMetadata({ metadata, spec }), name: archiveBackupName(metadata.name) },
    spec: { ...template, deletionPolicy: "Retain", verification: { mode: "None" }, archive: spec.archive },
  };
}

/**
 * The EtcdBackup of a run. It has no owner, so it outlives the schedule. It is not verified while another verification
 * runs: each needs space for all of etcd's data, and slow ones would accumulate.
 * @param made number of earlier runs @param repeated the failed run that it repeats
 */
export function backupFor(
  { schedule: { metadata, spec }, backups }: Pick<ScheduleSnapshot, "schedule" | "backups">,
  dueMs: number,
  made: number,
  repeated?: EtcdBackup,
): Draft<EtcdBackup> {
  const { verification, backupTemplate } = spec;
  const wasAsked = repeated !== undefined && isToVerify(repeated);
  const isOneOf = verification !== undefined && (wasAsked || made % verification.every === 0);
  const isAsked = isToVerify(backupTemplate) || isOneOf;
  const isBusy = backups.some((backup) => isGood(backup) && !isSettled(backup));
  return {
    apiVersion: apiVersionOf(ETCD_BACKUPS),
    kind: ETCD_BACKUPS.kind,
    metadata: { ...templateMetadata({ metadata, spec }), name: scheduledBackupName(metadata.name, dueMs) },
    spec: { ...backupTemplate.spec, verification: { mode: isAsked && !isBusy ? "Restore" : "None" } },
  };
}

/** Metadata of each EtcdBackup of a schedule. The operator's own labels and annotations take precedence. */
function templateMetadata({ metadata, spec }: Pick<EtcdBackupSchedule, "metadata" | "spec">) {
  const { labels, annotations } = spec.backupTemplate.metadata ?? {};
  return {
    namespace: metadata.namespace,
    labels: { ...labels, ...scheduledBackupLabels(metadata.name) },
    annotations: { ...annotations, [SCHEDULE_UID_ANNOTATION]: metadata.uid },
  };
}
