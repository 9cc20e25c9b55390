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
  /** Only objects of these names. */
  readonly resourceNames?: readonly string[];
}

const READ = ["get", "list", "watch"] as const;
/** Of kinds that are only ever read through a cache. */
const FOLLOW = ["list", "watch"] as const;

const DEFINITIONS = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES].map((each) =>
  resourceName(each),
);

/**
 * What the operator may do, and no more: each line is a read of caches.ts, a write of an `act.ts` or what the webhooks need.
 * `config/operator.yaml` is generated from it. The end-to-end tests run with exactly these rights, and name those that nobody
 * used. What they amount to is limited further by scripts/admission-policy.ts.
 */
export const PERMISSIONS: readonly Permission[] = [
  // cluster: watches what people write, writes spec.tls into a new one that leaves it open, records identity and status; restore: makes the
  // cluster whose claims it has filled
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdclusters"], verbs: [...READ, "create", "patch"] },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdclusters/status"], verbs: ["update"] },
  // Owner references that block deletion may only be set by who may change the owner's finalizers.
  {
    apiGroups: ["etcd.improbable.io"],
    resources: [
      ...["etcdclusters/finalizers", "etcdpeers/finalizers", "etcdbackups/finalizers", "etcdrestores/finalizers"],
      "etcdusers/finalizers",
    ],
    verbs: ["update"],
  },
  // cluster: one EtcdPeer per member, and its removal; peer: its finalizers and its status
  {
    apiGroups: ["etcd.improbable.io"],
    resources: ["etcdpeers"],
    verbs: [...READ, "create", "update", "patch", "delete"],
  },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdpeers/status"], verbs: ["update"] },
  // backup: watches what people write, keeps it until its object is deleted, tells how it goes; schedule: makes backups, and deletes
  // those that are not kept
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdbackups"], verbs: [...READ, "create", "patch", "delete"] },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdbackups/status"], verbs: ["update"] },
  // schedule: watches what people write, tells when backups are due and which there are
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdbackupschedules"], verbs: READ },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdbackupschedules/status"], verbs: ["update"] },
  // restore: watches what people write, keeps it until claims that it has not filled are deleted, tells how it goes; cluster: makes one for a
  // cluster that is to begin with a stored snapshot
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdrestores"], verbs: [...READ, "create", "patch"] },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdrestores/status"], verbs: ["update"] },
  // role, user: watch what people write, keep it until its role or user in etcd is deleted, tell how it is
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdroles", "etcdusers"], verbs: [...FOLLOW, "patch"] },
  { apiGroups: ["etcd.improbable.io"], resources: ["etcdroles/status", "etcdusers/status"], verbs: ["update"] },
  // cluster: Services and budget, which goes when nobody wants one; peer: the ReplicaSet
  { apiGroups: [""], resources: ["services"], verbs: [...FOLLOW, "create", "update"] },
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: [...FOLLOW, "create", "update", "delete"] },
  // cluster: who may reach its members, where somebody asks for that
  {
    apiGroups: ["networking.k8s.io"],
    resources: ["networkpolicies"],
    verbs: [...FOLLOW, "create", "update", "delete"],
  },
  { apiGroups: ["apps"], resources: ["replicasets"], verbs: [...FOLLOW, "create", "update"] },
  // peer: the claim; deleted only after somebody asked for fewer members, patched only to put it aside or its labels back. restore: the claims of
  // a new cluster; patched to say whose data they hold, deleted only while they hold nobody's
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: [...READ, "create", "patch", "delete"] },
  // peer: fences the running pod, by its annotations; cluster: restarts a member, by deleting its pod
  { apiGroups: [""], resources: ["pods"], verbs: [...FOLLOW, "patch", "delete"] },
  // backup: the Jobs that take a snapshot, and that delete one; restore: those that fill a claim
  { apiGroups: ["batch"], resources: ["jobs"], verbs: [...FOLLOW, "create", "delete"] },
  // cluster: the PodMonitor, where somebody asks for one; it is read by its name, and not followed
  {
    apiGroups: ["monitoring.coreos.com"],
    resources: ["podmonitors"],
    verbs: ["get", "create", "update", "delete"],
  },
  // peer: which classes there are, for a claim that gets no volume
  { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: ["list"] },
  // webhooks: tell the API server whom to trust when it asks before it stores an EtcdCluster. No policy can watch over that: the API
  // server asks none about what governs admission.
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingwebhookconfigurations"],
    verbs: ["get", "update"],
    resourceNames: [OPERATOR],
  },
  // webhooks: the same for conversions between versions; migration: which versions are stored. The policy lets nothing else of a
  // definition be changed.
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    verbs: ["get", "update"],
    resourceNames: DEFINITIONS,
  },
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions/status"],
    verbs: ["update"],
    resourceNames: DEFINITIONS,
  },
  // metrics: who asks for them, and whether they may have them
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  // events, for people; backup: what Kubernetes warns of while a Job gets no pod, or its pod no Secret, which stands nowhere else
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "list"] },
];

/**
 * For clusters with `spec.tls`, and for EtcdUsers: their certificates, bindings, and the password of etcd's user root, each by its name; none is listed or followed. RBAC cannot say which names, since they are
 * those of clusters to come: whom that is too much for binds these rights only in namespaces that have such clusters.
 */
export const TLS_PERMISSIONS: readonly Permission[] = [
  // cluster: what it issues, and what others brought, and the password of root; user: the bindings, and what cert-manager has made for them
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "update"] },
  // cluster: whom clients have to trust
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "create", "update"] },
  // cluster, user: what they ask cert-manager for
  { apiGroups: ["cert-manager.io"], resources: ["certificates"], verbs: ["get", "create", "update"] },
];

/** The ClusterRole of who may read the operator's metrics; nobody has it until somebody binds it. */
export const METRICS_READER_ROLE = `${OPERATOR}-metrics-reader`;

/**
 * In the operator's own namespace and in that of the lease of the whole Kubernetes cluster: the lease by which one of several
 * operators acts, and no other. RBAC cannot say which name is created: the object does not exist yet.
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

/** The largest number of shards: of so many the leases are listed by name. */
export const MAX_SHARDS = 16;

/** In the operator's own namespace: the leases of shards, for who has them. */
export const SHARD_PERMISSIONS: readonly Permission[] = [
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "update"],
    resourceNames: Array.from({ length: MAX_SHARDS }, (_, shard) => shardLeaseName(shard)),
  },
];

/** In the operator's own namespace: the certificate of the webhooks, by its name. */
export const WEBHOOK_PERMISSIONS: readonly Permission[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "update"], resourceNames: [WEBHOOKS] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
];

/** Where the lease of the whole Kubernetes cluster lies: a namespace that every one has, and that no installation owns. */
export const CLUSTER_LEASE_NAMESPACE = "kube-system";
