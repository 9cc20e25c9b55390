import type { z } from "zod";
import { GROUP } from "#api/names.ts";
import type { retentionSchema } from "#api/v1beta1/retention-schema.ts";
import type { scheduleSpecSchema } from "#api/v1beta1/schedule-schema.ts";
import type { dryRunSchema, madeBackupSchema, scheduleStatusSchema } from "#api/v1beta1/schedule-status-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: at run time the operator does not load the schemas and zod, which saves memory.

export type EtcdBackupScheduleSpec = z.output<typeof scheduleSpecSchema>;
export type EtcdBackupScheduleStatus = z.output<typeof scheduleStatusSchema>;
export type Retention = z.output<typeof retentionSchema>;
export type MadeBackup = z.output<typeof madeBackupSchema>;
export type DryRunStatus = z.output<typeof dryRunSchema>;

export interface EtcdBackupSchedule extends KubeObject {
  metadata: NamespacedMeta;
  spec: EtcdBackupScheduleSpec;
  status?: EtcdBackupScheduleStatus;
}

export const ETCD_BACKUP_SCHEDULES = resource<EtcdBackupSchedule>({
  group: GROUP,
  version: "v1beta1",
  kind: "EtcdBackupSchedule",
  plural: "etcdbackupschedules",
  namespaced: true,
});
