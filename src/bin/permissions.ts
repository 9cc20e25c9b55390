import { OPERATOR, shardLeaseName, WEBHOOKS } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { resourceName } from "#kube/kinds.ts";

/** A rule of a ClusterRole (rbac.authorization.k8s.io/v1). */
export interface Permission {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Restricts the rule to objects of these names. */
  readonly resourceNames?: readonly string[];
}

const READ = ["get", "list", "watch"] as const;
/** Verbs for kinds that are only read through a cache. */
const FOLLOW = ["list", "watch"] as const;

const DEFINITIONS = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES].map((each) =>
  resourceName(each),
);

/** Permissions in the namespaces with objects that the operator manages. */
export const NAMESPACED_PERMISSIONS: readonly Permission[] = [
  // cluster: watches them, writes spec.tls into a new one without it, records identity and status
  // restore: creates the cluster after it has filled the claims
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdclusters"], verbs: [...READ, "create", "patch"] },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdclusters/status"], verbs: ["update"] },
  // Setting blockOwnerDeletion requires the right to update the owner's finalizers.
  {
    apiGroups: ["etcd.improbable.io"],
    resources: [
      ...["etcdclusters/finalizers", "etcdpeers/finalizers", "etcdbackups/finalizers", "etcdrestores/finalizers"],
      "etcdusers/finalizers",
    ],
    verbs: ["update"],
  },
  // cluster: creates one EtcdPeer per member, and removes it
  // peer: updates its finalizers and status
  {
    apiGroups: ["etcd.improbable.io"],
    resources: ["etcdpeers"],
    verbs: [...READ, "create", "update", "patch", "delete"],
  },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdpeers/status"], verbs: ["update"] },
  // backup: watches them, adds a finalizer until the stored object is deleted, updates the status
  // schedule: creates backups, and deletes those beyond the retention
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdbackups"], verbs: [...READ, "create", "patch", "delete"] },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdbackups/status"], verbs: ["update"] },
  // schedule: watches them, and reports due times and existing backups in the status
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdbackupschedules"], verbs: READ },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdbackupschedules/status"], verbs: ["update"] },
  // restore: watches them, adds a finalizer until incomplete claims are deleted, updates the status
  // cluster: creates one for a cluster that starts from a stored snapshot
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdrestores"], verbs: [...READ, "create", "patch"] },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdrestores/status"], verbs: ["update"] },
  // role, user: watch them, add a finalizer until the role or user in etcd is deleted, update the status
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdroles", "etcdusers"], verbs: [...FOLLOW, "patch"] },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdroles/status", "etcdusers/status"], verbs: ["update"] },
  // cluster: Services, and the PodDisruptionBudget, which is deleted when disabled
  // peer: the ReplicaSet
  { apiGroups: [""], resources: ["services"], verbs: [...FOLLOW, "create", "update"] },
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: [...FOLLOW, "create", "update", "delete"] },
  // cluster: the NetworkPolicy for its members, if enabled
  {
    apiGroups: ["networking.k8s.io"],
    resources: ["networkpolicies"],
    verbs: [...FOLLOW, "create", "update", "delete"],
  },
  { apiGroups: ["apps"], resources: ["replicasets"], verbs: [...FOLLOW, "create", "update"] },
  // peer: creates the claim, deletes it only after a removal that permits it, patches it only to quarantine it or to
  // restore its labels
  // restore: creates the claims of a new cluster, patches them with the cluster's identity, deletes only those without
  // data
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: [...READ, "create", "patch", "delete"] },
  // peer: fences the running pod, by patching its annotations
  // cluster: restarts a member, by deleting its pod
  { apiGroups: [""], resources: ["pods"], verbs: [...FOLLOW, "patch", "delete"] },
  // backup: Jobs that take, verify or delete a snapshot
  // restore: Jobs that fill a claim
  { apiGroups: ["batch"], resources: ["jobs"], verbs: [...FOLLOW, "create", "delete"] },
  // cluster: the PodMonitor, if enabled; it is read by name and not watched
  {
    apiGroups: ["monitoring.coreos.com"],
    resources: ["podmonitors"],
    verbs: ["get", "create", "update", "delete"],
  },
  // all: record events
  // backup: lists warnings about a Job without a pod, or a pod without its Secret, which appear nowhere else
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "list"] },
];

/** Permissions for objects that have no namespace. */
export const CLUSTER_PERMISSIONS: readonly Permission[] = [
  // peer: lists the classes, to explain why a claim gets no volume
  { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: ["list"] },
  // webhooks: write the CA bundle for the validating webhook. No admission policy can restrict this, because the API
  // server evaluates none for admission configuration.
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingwebhookconfigurations"],
    verbs: ["get", "update"],
    resourceNames: [OPERATOR],
  },
  // webhooks: write the CA bundle for the conversion webhook
  // migration: reads the stored versions
  // The admission policy refuses any other change of a definition.
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    verbs: ["get", "update"],
    resourceNames: DEFINITIONS,
  },
  // metrics: authenticate and authorize clients of the metrics endpoint
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];

/** Permissions for the rewriting of stored objects, which `--watch-namespaces` leaves out. */
const MIGRATION_PERMISSIONS: readonly Permission[] = [
  // migration: updates the stored versions
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions/status"],
    verbs: ["update"],
    resourceNames: DEFINITIONS,
  },
];

/**
 * The operator's permissions. Each rule belongs to a read in caches.ts, a write in an `act.ts`, or the webhooks.
 * `config/operator.yaml` is generated from it, the end-to-end tests run with it and report unused permissions, and
 * scripts/admission-policy.ts restricts it further.
 */
export const PERMISSIONS: readonly Permission[] = [
  ...NAMESPACED_PERMISSIONS,
  ...CLUSTER_PERMISSIONS,
  ...MIGRATION_PERMISSIONS,
];

/**
 * Permissions for clusters with `spec.tls` and for EtcdUsers: their certificates, bindings and root password, each read
 * by name, without list or watch. RBAC cannot restrict the names, which belong to future clusters. To grant less, bind
 * this role only in namespaces with such clusters.
 */
export const TLS_PERMISSIONS: readonly Permission[] = [
  // cluster: Secrets that it issues, Secrets named in the spec, and the root password
  // user: bindings, and the Secrets that cert-manager fills for them
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "update"] },
  // cluster: the CA bundle for clients
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "create", "update"] },
  // cluster, user: certificates requested from cert-manager
  { apiGroups: ["cert-manager.io"], resources: ["certificates"], verbs: ["get", "create", "update"] },
];

/** ClusterRole for reading the operator's metrics. It has no binding by default. */
export const METRICS_READER_ROLE = `${OPERATOR}-metrics-reader`;

/**
 * Permissions for the leader election leases, in the operator's namespace and in the namespace of the cluster-wide
 * lease. RBAC cannot restrict the name on create, because the object does not exist yet.
 */
export const LEASE_PERMISSIONS: readonly Permission[] = [
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "update", "patch"],
    resourceNames: [OPERATOR],
  },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
];

/**
 * Maximum of `--watch-namespaces`. For each namespace there are 14 watches, each with a connection to the API server. With
 * more namespaces, watching all of them is cheaper.
 */
export const MAX_NAMESPACES = 50;

/** Maximum number of shards. The permissions list the name of each shard's lease. */
export const MAX_SHARDS = 16;

/** Permissions for the leases of shards, in the operator's namespace. */
export const SHARD_PERMISSIONS: readonly Permission[] = [
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "update"],
    resourceNames: Array.from({ length: MAX_SHARDS }, (_, shard) => shardLeaseName(shard)),
  },
];

/** Permissions for the webhooks' certificate, by name, in the operator's namespace. */
export const WEBHOOK_PERMISSIONS: readonly Permission[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "update"], resourceNames: [WEBHOOKS] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
];

/** Namespace of the cluster-wide lease. It exists in every Kubernetes cluster and belongs to no installation. */
export const CLUSTER_LEASE_NAMESPACE = "kube-system";
