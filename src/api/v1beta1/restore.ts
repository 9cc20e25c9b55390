import type { z } from "zod";
import { GROUP } from "#api/names.ts";
import type { restoreSpecSchema } from "#api/v1beta1/restore-schema.ts";
import type { restoredSnapshotSchema, restoreStatusSchema } from "#api/v1beta1/restore-status-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: at run time the operator does not load the schemas and zod, which saves memory.

export type EtcdRestoreSpec = z.output<typeof restoreSpecSchema>;
export type EtcdRestoreStatus = z.output<typeof restoreStatusSchema>;
export type RestoreSource = EtcdRestoreSpec["source"];
export type StoredSnapshot = NonNullable<RestoreSource["object"]>;
export type RestoredSnapshot = z.output<typeof restoredSnapshotSchema>;

export interface EtcdRestore extends KubeObject {
  metadata: NamespacedMeta;
  spec: EtcdRestoreSpec;
  status?: EtcdRestoreStatus;
}

export const ETCD_RESTORES = resource<EtcdRestore>({
  group: GROUP,
  version: "v1beta1",
  kind: "EtcdRestore",
  plural: "etcdrestores",
  namespaced: true,
});
