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
import { selects } from "#kube/selector.ts";
import type { CacheView } from "#runtime/controller.ts";

/** Index by cluster: `namespace/name` of the EtcdCluster. */
export const CLUSTER_INDEX = "cluster";
/** Index by namespace: the budgets that the operator has not created. */
export const OTHERS_INDEX = "others";
/** Maximum number of such budgets that a pass compares with the members. More would only take time in every pass. */
const MAX_OTHER_BUDGETS = 100;

/** Caches of all watched kinds. */
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

/** The part of a snapshot that comes from caches alone. */
export type CachedParts = Pick<
  ClusterSnapshot,
  | "cluster"
  | "headlessService"
  | "clientService"
  | "budget"
  | "otherBudgets"
  | "networkPolicy"
  | "schedules"
  | "sourceBackups"
  | "peers"
  | "foreignPeers"
  | "restore"
  | "claims"
  | "pods"
>;

/** The cached objects of the cluster as they are now. */
export function cachedParts(caches: ClusterCaches, cluster: EtcdCluster): CachedParts {
  const { namespace, name, uid } = cluster.metadata;
  const index = `${namespace}/${name}`;
  const isOwn = (peer: EtcdPeer) => controllerOf(peer)?.uid === uid;
  const all = caches.peers.byIndex(CLUSTER_INDEX, index);
  const peers = all.filter(isOwn);
  const pods = currentPods(caches.pods.byIndex(CLUSTER_INDEX, index));
  return {
    cluster,
    headlessService: caches.services.get({ namespace, name: headlessServiceName(name) }),
    clientService: caches.services.get({ namespace, name: clientServiceName(name) }),
    budget: caches.budgets.get({ namespace, name: disruptionBudgetName(name) }),
    otherBudgets: otherBudgetsOf(caches, namespace, pods),
    networkPolicy: caches.networkPolicies.get({ namespace, name: networkPolicyName(name) }),
    schedules: caches.schedules
      .byIndex(CLUSTER_INDEX, index)
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    sourceBackups: caches.backups.byIndex(CLUSTER_INDEX, index),
    peers,
    foreignPeers: all.filter((peer) => !peers.includes(peer)),
    restore: caches.restores.get({ namespace, name }),
    claims: caches.claims.byIndex(CLUSTER_INDEX, index),
    pods,
  };
}

function otherBudgetsOf(
  { budgets }: Pick<ClusterCaches, "budgets">,
  namespace: string,
  pods: ReadonlyMap<string, Pod>,
): readonly PodDisruptionBudget[] {
  const others = budgets.byIndex(OTHERS_INDEX, namespace).slice(0, MAX_OTHER_BUDGETS);
  return others.filter(({ spec }) => pods.values().some(({ metadata }) => selects(spec?.selector, metadata.labels)));
}

/**
 * The resource versions of all these objects as one string: unchanged as long as none is changed, created or deleted.
 * The API server gives each change another version:
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
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
  const { schedules, sourceBackups, peers, foreignPeers, claims, otherBudgets } = parts;
  const several = [schedules, sourceBackups, peers, foreignPeers, claims, otherBudgets];
  const versions = (objects: Iterable<KubeObject | undefined>) =>
    Array.from(objects, (object) => object?.metadata.resourceVersion ?? "-").join(" ");
  return [single, ...several, parts.pods.values()].map(versions).join("|");
}
