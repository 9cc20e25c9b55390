import { BACKUP_LABEL, CLUSTER_LABEL, PEER_LABEL, RESTORE_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { fingerprint } from "#base/hash.ts";
import { controllerOf, type KubeObject, type NamespacedMeta } from "#kube/kinds.ts";

// Which shard decides about an object, and which shards have to know of it.
//   About: by namespace and name of the cluster, which every object tells itself, and which nobody can change in it. So two processes agree on
//   it whatever their caches show, also while there is no such cluster, and when one is made again under its name.
//   Know of it: whoever might look for it, by whatever of it may be right. Too much costs memory, too little would be overlooked.
// Whoever changes what belongs where, or how processes tell on a lease that they go on, counts RULE up: those with different rules must never lead at the same time.
// docs/adr/0035-shards-are-leases-of-a-group.md

/** Counts the ways to say what belongs where, and who goes on. It is part of the name under which processes hold their leases together. */
const RULE = 2;

/** One of so many shards. */
export interface Shard {
  /** From 0. */
  readonly number: number;
  readonly of: number;
}

/** What processes that agree on what belongs where are called together. @param of number of shards */
export function groupName(of: number): string {
  return `shards-rule${RULE}-of-${of}`;
}

/** The number of the shard to which the cluster of this name belongs, whether or not there is one. */
export function shardNumber(namespace: string, name: string, of: number): number {
  // 48 bits are far more than any number of shards, and a whole number in every arithmetic.
  return Number.parseInt(fingerprint(`${namespace}/${name}`).slice(0, 12), 16) % of;
}

export function isIn({ number, of }: Shard, namespace: string | undefined, name: string): boolean {
  return shardNumber(namespace ?? "", name, of) === number;
}

/** What names a cluster of its own namespace in its spec, for good. */
interface OfCluster extends KubeObject {
  readonly metadata: NamespacedMeta;
  readonly spec: { readonly clusterName: string };
}

/** EtcdPeers, EtcdRoles and EtcdUsers. */
export function isOfCluster(shard: Shard, { metadata, spec }: OfCluster): boolean {
  return isIn(shard, metadata.namespace, spec.clusterName);
}

/** By the cluster that is backed up; one of members that are named by their addresses belongs by its own name. */
export function isBackup(shard: Shard, { metadata, spec }: EtcdBackup): boolean {
  return isIn(shard, metadata.namespace, spec.source.clusterName ?? metadata.name);
}

/**
 * Whether a Service, budget or NetworkPolicy might be looked for by who decides about a cluster of the shard: by its label, which can be edited,
 * its owner, or its name, which is the cluster's.
 */
export function mayConcernCluster(shard: Shard, object: KubeObject): boolean {
  const { namespace, name, labels = {} } = object.metadata;
  const told = [labels[CLUSTER_LABEL], controllerOf(object)?.name, name, /^(.+)-client$/.exec(name)?.[1]];
  return told.some((each) => each !== undefined && isIn(shard, namespace, each));
}

/**
 * The same of a claim, ReplicaSet or pod. Their names, owners and labels are those of members: a cluster that is called as another one's member
 * has nothing to do with it. What belongs to a backup or a restore is everybody's.
 */
export function mayConcernMember(shard: Shard, object: KubeObject): boolean {
  const { namespace, name, labels = {} } = object.metadata;
  if (labels[BACKUP_LABEL] !== undefined || labels[RESTORE_LABEL] !== undefined) return true;
  const members = [labels[PEER_LABEL], controllerOf(object)?.name, name];
  const told = [labels[CLUSTER_LABEL], ...members.map((member) => member && clusterOfMember(member))];
  return told.some((each) => each !== undefined && isIn(shard, namespace, each));
}

/** @returns undefined when the name is none of a member, as that of a pod */
function clusterOfMember(name: string): string | undefined {
  return /^(.+)-[0-9]+$/.exec(name)?.[1];
}
