import type { z } from "zod";
import { GROUP } from "#api/names.ts";
import type { roleSpecSchema, roleStatusSchema } from "#api/v1beta1/role-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: at run time the operator does not load the schemas and zod, which saves memory.

export type EtcdRoleSpec = z.output<typeof roleSpecSchema>;
export type EtcdRoleStatus = z.output<typeof roleStatusSchema>;
export type RolePermission = EtcdRoleSpec["permissions"][number];

export interface EtcdRole extends KubeObject {
  metadata: NamespacedMeta;
  spec: EtcdRoleSpec;
  status?: EtcdRoleStatus;
}

export const ETCD_ROLES = resource<EtcdRole>({
  group: GROUP,
  version: "v1beta1",
  kind: "EtcdRole",
  plural: "etcdroles",
  namespaced: true,
});
