import { ETCD_INDEX } from "#access/calls.ts";
import {
  BACKUP_LABEL,
  CLUSTER_LABEL,
  MANAGED_BY_LABEL,
  OPERATOR,
  PEER_LABEL,
  RESTORE_LABEL,
  SCHEDULE_LABEL,
} from "#api/names.ts";
import { SPEC_LIMIT } from "#api/size-limit.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES, type EtcdRestore } from "#api/v1beta1/restore.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_BACKUP_SCHEDULES, type EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { SIBLING_INDEX } from "#backup/newest.ts";
import { BACKUP_INDEX, SOURCE_INDEX } from "#backup/observe.ts";
import { OPEN_INDEX, openIndexOf } from "#backup/running.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { clusterKeysForSchedule } from "#cluster/controller.ts";
import { CLUSTER_INDEX, OTHERS_INDEX } from "#cluster/observe/cached-parts.ts";
import { Cache } from "#kube/cache.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type AnyResource,
  JOBS,
  type KubeObject,
  NETWORK_POLICIES,
  type NetworkPolicy,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  SERVICES,
  type Service,
} from "#kube/kinds.ts";
import { SharedStrings } from "#kube/shared-strings.ts";
import { PEER_INDEX } from "#peer/observe.ts";
import { RESTORE_INDEX, TARGET_INDEX } from "#restore/observe.ts";
import { keyText } from "#runtime/controller.ts";
import { ARCHIVE_INDEX, BEGINNING_INDEX, RESTORED_INDEX, SCHEDULE_INDEX } from "#schedule/observe.ts";
import { beginningOf } from "#schedule/snapshot.ts";
import { isIn, isPeer, isRoleOrUser, mayConcernCluster, mayConcernMember, type Shard } from "#shards/belonging.ts";
import {
  isOfCluster,
  ofAnotherShard,
  whatMatters,
  withEvictionsAlone,
  withPhaseAndSize,
  withSecretsAlone,
  withSelectorAlone,
  withTaskAlone,
} from "./kept.ts";

/**
 * Caches of the API server's objects. Their changes trigger the controllers. Owned objects are selected by label, and
 * objects that concern only other shards are dropped on arrival.
 */
export type Caches = ReturnType<typeof createCaches>;

/** Which objects this process reads. */
export interface Reach {
  /** The shard that this process leads; undefined: everything. */
  readonly shard?: Shard | undefined;
  /** Namespaces of the flag `--watch-namespaces`; undefined: all. */
  readonly namespaces?: readonly string[] | undefined;
}

/** Creates the caches. */
export function createCaches(client: KubeClient, clock: Clock, log: Log, { shard, namespaces }: Reach = {}) {
  const keeping =
    <T extends KubeObject>(isKept: (shard: Shard, object: T) => boolean, keep: (object: T) => T = (object) => object) =>
    (object: T) =>
      shard === undefined || isKept(shard, object) ? keep(object) : undefined;
  const all = { client, clock, log, namespaces, strings: new SharedStrings(), placeLabels: PLACE_LABELS };
  const ours = { ...all, labelSelector: `${MANAGED_BY_LABEL}=${OPERATOR}` };
  return {
    clusters: new Cache<EtcdCluster>({
      ...all,
      resource: ETCD_CLUSTERS,
      limits: [SPEC_LIMIT],
      keep: (cluster) => {
        const { namespace, name } = cluster.metadata;
        return shard === undefined || isIn(shard, namespace, name) ? cluster : ofAnotherShard(cluster);
      },
      indexes: { [BEGINNING_INDEX]: backupOfCluster },
    }),
    peers: new Cache<EtcdPeer>({
      ...all,
      resource: ETCD_PEERS,
      place: ({ spec: { clusterName } }) => ({ clusterName }),
      keep: keeping<EtcdPeer>(isPeer),
      indexes: { [CLUSTER_INDEX]: clusterOfPeer },
    }),
    backups: new Cache<EtcdBackup>({
      ...all,
      resource: ETCD_BACKUPS,
      place: placeOfBackup,
      indexes: {
        [CLUSTER_INDEX]: clusterOfBackup,
        [SOURCE_INDEX]: clusterOfBackup,
        [SCHEDULE_INDEX]: byLabel(SCHEDULE_LABEL),
        [SIBLING_INDEX]: byLabel(SCHEDULE_LABEL),
        [ARCHIVE_INDEX]: namespaceOfArchive,
      },
    }),
    schedules: new Cache<EtcdBackupSchedule>({
      ...all,
      resource: ETCD_BACKUP_SCHEDULES,
      place: ({ spec: { backupTemplate } }) => ({ backupTemplate: { spec: placeOfBackup(backupTemplate) } }),
      indexes: { [CLUSTER_INDEX]: clusterOfSchedule },
    }),
    restores: new Cache<EtcdRestore>({
      ...all,
      resource: ETCD_RESTORES,
      place: placeOfRestore,
      indexes: { [TARGET_INDEX]: clusterOfRestore, [RESTORED_INDEX]: backupOfRestore },
    }),
    roles: new Cache<EtcdRole>({
      ...all,
      resource: ETCD_ROLES,
      place: ({ spec: { clusterRef } }) => ({ clusterRef: { name: clusterRef.name } }),
      keep: keeping<EtcdRole>(isRoleOrUser),
      indexes: { [CLUSTER_INDEX]: clusterOfAccess, [ETCD_INDEX]: clusterOfAccess },
    }),
    users: new Cache<EtcdUser>({
      ...all,
      resource: ETCD_USERS,
      place: ({ spec: { clusterRef } }) => ({ clusterRef: { name: clusterRef.name }, roles: [] }),
      keep: keeping<EtcdUser>(isRoleOrUser),
      indexes: { [CLUSTER_INDEX]: clusterOfAccess, [ETCD_INDEX]: clusterOfAccess },
    }),
    jobs: new Cache({ ...ours, resource: JOBS, keep: withTaskAlone, indexes: { [OPEN_INDEX]: openIndexOf } }),
    services: new Cache({ ...ours, resource: SERVICES, keep: keeping<Service>(mayConcernCluster) }),
    // Budgets of all owners are cached: Kubernetes evicts no pod that two budgets select.
    budgets: new Cache({
      ...all,
      resource: POD_DISRUPTION_BUDGETS,
      keep: (budget) => {
        if (!isOfCluster(budget)) return withSelectorAlone(budget);
        return shard === undefined || mayConcernCluster(shard, budget) ? withEvictionsAlone(budget) : undefined;
      },
      indexes: { [OTHERS_INDEX]: (budget) => (isOfCluster(budget) ? [] : [budget.metadata.namespace]) },
    }),
    networkPolicies: new Cache({
      ...ours,
      resource: NETWORK_POLICIES,
      keep: keeping<NetworkPolicy>(mayConcernCluster),
    }),
    claims: new Cache({
      ...ours,
      resource: PERSISTENT_VOLUME_CLAIMS,
      keep: keeping(mayConcernMember, withPhaseAndSize),
      indexes: { [CLUSTER_INDEX]: byLabel(CLUSTER_LABEL), [TARGET_INDEX]: byLabel(CLUSTER_LABEL) },
    }),
    replicaSets: new Cache({ ...ours, resource: REPLICA_SETS, keep: keeping(mayConcernMember, withSecretsAlone) }),
    pods: new Cache({
      ...ours,
      resource: PODS,
      keep: keeping(mayConcernMember, whatMatters),
      indexes: {
        [CLUSTER_INDEX]: byLabel(CLUSTER_LABEL),
        [TARGET_INDEX]: byLabel(CLUSTER_LABEL),
        [ETCD_INDEX]: byLabel(CLUSTER_LABEL),
        [PEER_INDEX]: byLabel(PEER_LABEL),
        [BACKUP_INDEX]: byLabel(BACKUP_LABEL),
        [RESTORE_INDEX]: byLabel(RESTORE_LABEL),
      },
    }),
  };
}

/** Kinds that the caches list and watch. */
export function cachedKinds(client: KubeClient, clock: Clock, log: Log): readonly AnyResource[] {
  return Object.values(createCaches(client, clock, log)).map(({ resource }) => resource);
}

/** Labels by which indexes find an object that is too large. */
const PLACE_LABELS = [CLUSTER_LABEL, PEER_LABEL, BACKUP_LABEL, RESTORE_LABEL, SCHEDULE_LABEL];

/** The fields that locate an EtcdBackup that is too large: its cluster, and whether it archives changes. */
function placeOfBackup({ spec }: { readonly spec: Pick<EtcdBackup["spec"], "source" | "archive"> }) {
  const { cluster } = spec.source;
  const source = cluster === undefined ? {} : { cluster: { name: cluster.name } };
  return { source, ...(spec.archive === undefined ? {} : { archive: {} }) };
}

function placeOfRestore({ spec }: EtcdRestore) {
  const { clusterName } = spec.clusterTemplate;
  const { backupName } = spec.source;
  return { clusterTemplate: { clusterName }, source: backupName === undefined ? {} : { backupName } };
}

function byLabel(label: string): (object: KubeObject) => readonly string[] {
  return ({ metadata }) => {
    const value = metadata.labels?.[label];
    return value === undefined ? [] : [`${metadata.namespace}/${value}`];
  };
}

/** Uses spec.clusterName, not a label: a peer without labels still occupies its name. */
function clusterOfPeer(peer: EtcdPeer): readonly string[] {
  return [`${peer.metadata.namespace}/${peer.spec.clusterName}`];
}

function clusterOfBackup({ metadata, spec }: EtcdBackup): readonly string[] {
  const { cluster } = spec.source;
  return cluster === undefined ? [] : [`${metadata.namespace}/${cluster.name}`];
}

function clusterOfRestore({ metadata, spec }: EtcdRestore): readonly string[] {
  return [`${metadata.namespace}/${spec.clusterTemplate.clusterName}`];
}

function namespaceOfArchive({ metadata, spec }: EtcdBackup): readonly string[] {
  return spec.archive === undefined || metadata.namespace === undefined ? [] : [metadata.namespace];
}

function backupOfRestore({ metadata, spec }: EtcdRestore): readonly string[] {
  const { backupName } = spec.source;
  return backupName === undefined ? [] : [`${metadata.namespace}/${backupName}`];
}

function backupOfCluster(cluster: EtcdCluster): readonly string[] {
  const name = beginningOf(cluster);
  return name === undefined ? [] : [`${cluster.metadata.namespace}/${name}`];
}

function clusterOfAccess({ metadata, spec }: EtcdRole | EtcdUser): readonly string[] {
  return [`${metadata.namespace}/${spec.clusterRef.name}`];
}

function clusterOfSchedule(schedule: EtcdBackupSchedule): readonly string[] {
  return clusterKeysForSchedule(schedule).map(keyText);
}
