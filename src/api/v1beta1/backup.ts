import type { z } from "zod";
import type { resourcesSchema } from "#api/common-schema.ts";
import { GROUP } from "#api/names.ts";
import type { backupSpecSchema } from "#api/v1beta1/backup-schema.ts";
import type { backupObjectSchema, backupStatusSchema } from "#api/v1beta1/backup-status-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: at run time the operator does not load the schemas and zod, which saves memory.

export type EtcdBackupSpec = z.output<typeof backupSpecSchema>;
export type EtcdBackupStatus = z.output<typeof backupStatusSchema>;
export type ResourceNeeds = z.output<typeof resourcesSchema>;
export type StoredBackup = z.output<typeof backupObjectSchema>;

export interface EtcdBackup extends KubeObject {
  metadata: NamespacedMeta;
  spec: EtcdBackupSpec;
  status?: EtcdBackupStatus;
}

export const ETCD_BACKUPS = resource<EtcdBackup>({
  group: GROUP,
  version: "v1beta1",
  kind: "EtcdBackup",
  plural: "etcdbackups",
  namespaced: true,
});
