import { ETCD_INDEX } from "#access/calls.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import { pausedBy } from "#api/pause.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import { SOURCE_INDEX } from "#backup/observe.ts";
import { hasEnded as hasBackupEnded } from "#backup/snapshot.ts";
import { isSameData } from "#base/hash.ts";
import { CLUSTER_INDEX } from "#cluster/observe/cached-parts.ts";
import type { KubeObject, Pod } from "#kube/kinds.ts";
import { isReady } from "#kube/pod.ts";
import { TARGET_INDEX } from "#restore/observe.ts";
import { hasEnded } from "#restore/snapshot.ts";
import type { SeenChange } from "#runtime/control-loop.ts";
import type { Key } from "#runtime/controller.ts";
import { RESTORED_INDEX } from "#schedule/observe.ts";
import type { Caches } from "./caches.ts";

// Which objects does a change trigger, and how soon?

/** Whether a user has edited or deleted the object. The operator's own writes are no edits. */
export function isEdit({ object, previous }: SeenChange): boolean {
  if (previous === undefined) return false;
  const { generation, annotations, deletionTimestamp } = object.metadata;
  const before = previous.metadata;
  if (deletionTimestamp !== before.deletionTimestamp || generation !== before.generation) return true;
  return !isSameData(annotations ?? {}, before.annotations ?? {});
}

/** Whether a pod stops serving. */
export function isLoss({ type, object, previous }: SeenChange): boolean {
  if (type === "deleted") return true;
  if (previous === undefined) return false;
  const isEnding = object.metadata.deletionTimestamp !== previous.metadata.deletionTimestamp;
  return isEnding || (isReady(previous as Pod) && !isReady(object as Pod));
}

/** The key of the object itself. */
export function ownKey({ metadata }: KubeObject): readonly Key[] {
  return metadata.namespace === undefined ? [] : [{ namespace: metadata.namespace, name: metadata.name }];
}

/** Namespace and name, as used in indexes. */
export function textOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Whether the cluster is paused or asleep. */
export function isStill(object: KubeObject): boolean {
  const cluster = object as EtcdCluster;
  return pausedBy(cluster) !== undefined || cluster.status?.sleep !== undefined;
}

export function peersOf(caches: Caches, cluster: KubeObject): readonly KubeObject[] {
  return caches.peers.byIndex(CLUSTER_INDEX, textOf(cluster), "known");
}

/** Backups of the cluster that have not ended; ended ones do not depend on it. */
export function openBackupsOf(caches: Caches, cluster: KubeObject): readonly KubeObject[] {
  return caches.backups.byIndex(SOURCE_INDEX, textOf(cluster), "known").filter((backup) => !hasBackupEnded({ backup }));
}

export function openRestoresOf(caches: Caches, cluster: KubeObject): readonly KubeObject[] {
  return caches.restores.byIndex(TARGET_INDEX, textOf(cluster), "known").filter((restore) => !hasEnded({ restore }));
}

/** The cluster that waits for the restore. */
export function targetOfRestore(restore: KubeObject): readonly Key[] {
  const { metadata, spec } = restore as EtcdRestore;
  return [{ namespace: metadata.namespace, name: spec.clusterTemplate.clusterName }];
}

/** Restores from this backup. */
export function restoresFrom(caches: Caches, backup: KubeObject): readonly KubeObject[] {
  return caches.restores.byIndex(RESTORED_INDEX, textOf(backup), "known").filter((restore) => !hasEnded({ restore }));
}

/** EtcdUsers with the role in their spec. */
export function usersWith(caches: Caches, role: EtcdRole): readonly KubeObject[] {
  const { namespace } = role.metadata;
  const all = caches.users.byIndex(ETCD_INDEX, `${namespace}/${role.spec.clusterRef.name}`, "known");
  return all.filter(({ spec }) => spec.roles.includes(roleNameOf(role)));
}
