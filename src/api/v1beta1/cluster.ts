import type { z } from "zod";
import { GROUP } from "#api/names.ts";
import type { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import type { planSchema } from "#api/v1beta1/plan-schema.ts";
import type {
  clusterStatusSchema,
  identitySchema,
  memberStatusSchema,
  unmanagedNamesSchema,
  unmanagedSchema,
  updateSchema,
} from "#api/v1beta1/status-schema.ts";
import { type KubeObject, type NamespacedMeta, resource } from "#kube/kinds.ts";

// Types only: at run time the operator does not load the schemas and zod, which saves memory.

export type EtcdClusterSpec = z.output<typeof clusterSpecSchema>;
export type EtcdClusterStatus = z.output<typeof clusterStatusSchema>;
export type ClusterIdentity = z.output<typeof identitySchema>;
export type MemberStatus = z.output<typeof memberStatusSchema>;
export type PlanStatus = z.output<typeof planSchema>;
export type Unmanaged = z.output<typeof unmanagedSchema>;
export type UnmanagedNames = z.output<typeof unmanagedNamesSchema>;
export type UpdateStatus = z.output<typeof updateSchema>;

export interface EtcdCluster extends KubeObject {
  metadata: NamespacedMeta;
  spec: EtcdClusterSpec;
  status?: EtcdClusterStatus;
}

export const ETCD_CLUSTERS = resource<EtcdCluster>({
  group: GROUP,
  version: "v1beta1",
  kind: "EtcdCluster",
  plural: "etcdclusters",
  namespaced: true,
});
