import { BACKUP_LABEL, CLUSTER_LABEL, PEER_LABEL, RESTORE_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { fingerprint } from "#base/hash.ts";
import { controllerOf, type KubeObject } from "#kube/kinds.ts";

// Which shard decides about an object, and which shards must cache it?
// - Decides: the shard of the cluster's namespace and name, which every object contains and nothing can change. So all
//   processes agree whatever their caches show. They also agree while the cluster does not exist, and when it is
//   created again under its name.
// - Caches: each shard that might look the object up, by any of its fields that may be right. Too many objects cost
//   memory; a missing one would be overlooked.
// When must RULE be incremented?
//   At each change of this assignment, or of how processes renew the lease. Processes with different rules must never
//   lead at the same time. docs/adr/0035-shards.md

/**
 * Version of the assignment and of the lease protocol. Part of the name under which a group of processes holds its
 * leases.
 */
const RULE = 2;

/** One of several shards. */
export interface Shard {
  /** From 0. */
  readonly number: number;
  readonly of: number;
}

/** Name of the group of processes with the same assignment. @param of number of shards */
export function groupName(of: number): string {
  return `shards-rule${RULE}-of-${of}`;
}

/** Shard of the cluster with this name, whether or not it exists. */
export function shardNumber(namespace: string, name: string, of: number): number {
  // 48 bits are far more than any number of shards, and an exact integer in any arithmetic.
  return Number.parseInt(fingerprint(`${namespace}/${name}`).slice(0, 12), 16) % of;
}

export function isIn({ number, of }: Shard, namespace: string | undefined, name: string): boolean {
  return shardNumber(namespace ?? "", name, of) === number;
}

/** Assigned by its cluster, which cannot be changed. */
export function isPeer(shard: Shard, { metadata, spec }: EtcdPeer): boolean {
  return isIn(shard, metadata.namespace, spec.clusterName);
}

/** Assigned by its cluster, which cannot be changed. */
export function isRoleOrUser(shard: Shard, { metadata, spec }: EtcdRole | EtcdUser): boolean {
  return isIn(shard, metadata.namespace, spec.clusterRef.name);
}

/** Assigned by the cluster that is backed up; without one, when members are given by addresses, by its own name. */
export function isBackup(shard: Shard, { metadata, spec }: EtcdBackup): boolean {
  return isIn(shard, metadata.namespace, spec.source.cluster?.name ?? metadata.name);
}

/**
 * Whether the shard of a cluster might look up this Service, budget or NetworkPolicy. It may find it by its label,
 * which can be edited, by its owner, or by its name.
 */
export function mayConcernCluster(shard: Shard, object: KubeObject): boolean {
  const { namespace, name, labels = {} } = object.metadata;
  const clusters = [labels[CLUSTER_LABEL], controllerOf(object)?.name, name, /^(.+)-client$/.exec(name)?.[1]];
  return clusters.some((each) => each !== undefined && isIn(shard, namespace, each));
}

/**
 * Whether the shard of a cluster might look up this claim, ReplicaSet or pod. Their names, owners and labels are those
 * of members: a cluster that is named like another cluster's member does not need them. Objects of a backup or a
 * restore belong to all shards.
 */
export function mayConcernMember(shard: Shard, object: KubeObject): boolean {
  const { namespace, name, labels = {} } = object.metadata;
  if (labels[BACKUP_LABEL] !== undefined || labels[RESTORE_LABEL] !== undefined) return true;
  const members = [labels[PEER_LABEL], controllerOf(object)?.name, name];
  const clusters = [labels[CLUSTER_LABEL], ...members.map((member) => member && clusterOfMember(member))];
  return clusters.some((each) => each !== undefined && isIn(shard, namespace, each));
}

/** @returns undefined when the name is not that of a member, such as that of a pod */
function clusterOfMember(name: string): string | undefined {
  return /^(.+)-[0-9]+$/.exec(name)?.[1];
}
