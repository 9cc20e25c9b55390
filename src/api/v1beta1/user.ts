import type { z } from "zod";
import { GROUP } from "#api/names.ts";
import type { userSpecSchema, userStatusSchema } from "#api/v1beta1/user-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: at run time the operator does not load the schemas and zod, which saves memory.

export type EtcdUserSpec = z.output<typeof userSpecSchema>;
export type EtcdUserStatus = z.output<typeof userStatusSchema>;

export interface EtcdUser extends KubeObject {
  metadata: NamespacedMeta;
  spec: EtcdUserSpec;
  status?: EtcdUserStatus;
}

export const ETCD_USERS = resource<EtcdUser>({
  group: GROUP,
  version: "v1beta1",
  kind: "EtcdUser",
  plural: "etcdusers",
  namespaced: true,
});
