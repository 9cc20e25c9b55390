import { archiveBackupName, SCHEDULE_UID_ANNOTATION, scheduledBackupLabels, scheduledBackupName } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";
import { isGood, isSettled, type ScheduleSnapshot } from "#schedule/snapshot.ts";

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
 * The EtcdBackup of a run. It has no owner, so it stays when the schedule is deleted. It is not verified while an earlier one is: each takes
 * a node room for the whole of etcd's data, and those that take longer than until the next run would become ever more.
 * @param made how many runs there were before
 */
export function backupFor(
  { schedule: { metadata, spec }, backups }: Pick<ScheduleSnapshot, "schedule" | "backups">,
  dueMs: number,
  made: number,
): Draft<EtcdBackup> {
  const { verifyEvery, backupTemplate } = spec;
  const isAsked = backupTemplate.verify || (verifyEvery !== undefined && made % verifyEvery === 0);
  const isBusy = backups.some((backup) => isGood(backup) && !isSettled(backup));
  return {
    apiVersion: apiVersionOf(ETCD_BACKUPS),
    kind: ETCD_BACKUPS.kind,
    metadata: {
      namespace: metadata.namespace,
      name: scheduledBackupName(metadata.name, dueMs),
      labels: scheduledBackupLabels(metadata.name),
      annotations: { [SCHEDULE_UID_ANNOTATION]: metadata.uid },
    },
    spec: { ...backupTemplate, verify: isAsked && !isBusy },
  };
}
