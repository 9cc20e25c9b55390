import { clientServiceName, disruptionBudgetName, headlessServiceName, networkPolicyName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import {
  controllerOf,
  type KubeObject,
  type NetworkPolicy,
  type PersistentVolumeClaim,
  type Pod,
  type PodDisruptionBudget,
  type Service,
} from "#kube/kinds.ts";
import { currentPods } from "#kube/pod.ts";
import type { CacheView } from "#runtime/controller.ts";

/** By cluster: `namespace/name` of the EtcdCluster. */
export const CLUSTER_INDEX = "cluster";

/** Where what is watched is known. */
export interface ClusterCaches {
  readonly clusters: CacheView<EtcdCluster>;
  readonly schedules: CacheView<EtcdBackupSchedule>;
  readonly backups: CacheView<EtcdBackup>;
  readonly peers: CacheView<EtcdPeer>;
  readonly restores: CacheView<EtcdRestore>;
  readonly users: CacheView<EtcdUser>;
  readonly roles: CacheView<EtcdRole>;
  readonly services: CacheView<Service>;
  readonly budgets: CacheView<PodDisruptionBudget>;
  readonly networkPolicies: CacheView<NetworkPolicy>;
  readonly claims: CacheView<PersistentVolumeClaim>;
  readonly pods: CacheView<Pod>;
}

/** What is known of a cluster without asking anybody. */
export type CachedParts = Pick<
  ClusterSnapshot,
  | "cluster"
  | "headlessService"
  | "clientService"
  | "budget"
  | "networkPolicy"
  | "schedules"
  | "sourceBackups"
  | "peers"
  | "foreignPeers"
  | "restore"
  | "claims"
  | "pods"
>;

/** All of it, as it is at this moment. */
export function cachedParts(caches: ClusterCaches, cluster: EtcdCluster): CachedParts {
  const { namespace, name, uid } = cluster.metadata;
  const index = `${namespace}/${name}`;
  const isOwn = (peer: EtcdPeer) => controllerOf(peer)?.uid === uid;
  const all = caches.peers.byIndex(CLUSTER_INDEX, index);
  const peers = all.filter(isOwn);
  return {
    cluster,
    headlessService: caches.services.get({ namespace, name: headlessServiceName(name) }),
    clientService: caches.services.get({ namespace, name: clientServiceName(name) }),
    budget: caches.budgets.get({ namespace, name: disruptionBudgetName(name) }),
    networkPolicy: caches.networkPolicies.get({ namespace, name: networkPolicyName(name) }),
    schedules: caches.schedules
      .byIndex(CLUSTER_INDEX, index)
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    sourceBackups: caches.backups.byIndex(CLUSTER_INDEX, index),
    peers,
    foreignPeers: all.filter((peer) => !peers.includes(peer)),
    restore: caches.restores.get({ namespace, name }),
    claims: caches.claims.byIndex(CLUSTER_INDEX, index),
    pods: currentPods(caches.pods.byIndex(CLUSTER_INDEX, index)),
  };
}

/**
 * The versions of all these objects in one text: while it is the same, nobody has changed, made or deleted any of them.
 * The API server gives each change of anything another version: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
 */
export function versionsOf(parts: CachedParts): string {
  const { cluster, headlessService, clientService, budget, networkPolicy, restore } = parts;
  const single: readonly (KubeObject | undefined)[] = [
    cluster,
    headlessService,
    clientService,
    budget,
    networkPolicy,
    restore,
  ];
  const several = [parts.schedules, parts.sourceBackups, parts.peers, parts.foreignPeers, parts.claims];
  const versions = (objects: Iterable<KubeObject | undefined>) =>
    Array.from(objects, (object) => object?.metadata.resourceVersion ?? "-").join(" ");
  return [single, ...several, parts.pods.values()].map(versions).join("|");
}
