import type { z } from "zod";
import { GROUP } from "#api/names.ts";
import type { userSpecSchema, userStatusSchema } from "#api/v1beta1/user-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: the schemas make CRDs and tests, and the operator lives without them and their library in memory.

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
