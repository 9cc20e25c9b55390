import { fingerprint } from "#base/hash.ts";

/**
 * All names, labels and annotations that the operator sets. They are a contract with users, with the 2020 operator of
 * this API group, and between the controllers.
 */

export const GROUP = "etcd.improbable.io";
/** Name of the operator, its image, its Deployment and its field manager. */
export const OPERATOR = "etcd-cluster-operator";

/** Name of the lease of one of the operator's shards (decision 35). @param shard number of the shard, from 0 */
export function shardLeaseName(shard: number): string {
  return `${OPERATOR}-shard-${shard}`;
}

/** Default repository of etcd images, without tag. */
export const ETCD_REPOSITORY = "gcr.io/etcd-development/etcd";

/** Name of the etcd container in each member's pod. */
export const ETCD_CONTAINER = "etcd";

/** Name of the data volume in a member's pod. */
export const DATA_VOLUME = "etcd-data";
/**
 * Mount path of the data volume. The data directory is one level below, because some file systems keep files such as
 * `lost+found` at the root.
 */
export const VOLUME_PATH = "/var/lib/etcd";

export const CLIENT_PORT = 2379;
export const PEER_PORT = 2380;
/** Plain HTTP for `/metrics`, `/livez` and `/readyz`; never carries data. */
export const METRICS_PORT = 2381;
/** Port names are a contract: `etcdctl --discovery-srv NAME` looks up `_etcd-client._tcp.NAME`. */
export const CLIENT_PORT_NAME = "etcd-client";
/** Name of the client port in the headless Service when members serve TLS only. etcd clients look up both names. */
export const CLIENT_TLS_PORT_NAME = "etcd-client-ssl";
export const PEER_PORT_NAME = "etcd-peer";
export const METRICS_PORT_NAME = "etcd-metrics";

export const NAME_LABEL = "app.kubernetes.io/name";
const NAME_LABEL_VALUE = "etcd";
export const INSTANCE_LABEL = "app.kubernetes.io/instance";
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
const COMPONENT_LABEL = "app.kubernetes.io/component";
/** Distinguishes member pods from pods of backups and restores. PodDisruptionBudgets and Services select by it. */
const MEMBER_COMPONENT = "member";
const BACKUP_COMPONENT = "backup";
const RESTORE_COMPONENT = "restore";
export const CLUSTER_LABEL = `${GROUP}/cluster-name`;
export const PEER_LABEL = `${GROUP}/peer-name`;

/**
 * Hash of the object as last applied by the operator. While it equals the hash of the desired object, nothing is
 * written.
 */
export const APPLIED_HASH_ANNOTATION = `${GROUP}/applied-hash`;
/**
 * Set on a ReplicaSet, its template and therefore each pod: the revision (api/revision.ts) that the pod is created
 * from.
 */
export const REVISION_ANNOTATION = `${GROUP}/revision`;
/**
 * Set on objects to which a spec gives labels, annotations or fields, such as the client Service: their names, as JSON.
 * The operator removes a listed one that the spec no longer has. It leaves all others alone.
 */
export const METADATA_KEYS_ANNOTATION = `${GROUP}/metadata-keys`;
/** Set on claims: identity of the member and its cluster. A claim outlives all other objects of its member. */
export const CLAIM_CLUSTER_ID_ANNOTATION = `${GROUP}/cluster-id`;
export const CLAIM_CLUSTER_TOKEN_ANNOTATION = `${GROUP}/cluster-token`;
export const CLAIM_MEMBER_ID_ANNOTATION = `${GROUP}/member-id`;
/**
 * Set on claims: the etcd release that last answered with this data, such as 3.6.16. A recreated cluster starts each
 * member with it. Absent until the member has answered.
 */
export const CLAIM_RELEASE_ANNOTATION = `${GROUP}/etcd-version`;
/**
 * Set to https on claims of members that peers reach over TLS, and on pods that listen for it. Members know each other
 * by URL, so a returning member must keep its scheme.
 */
export const PEER_SCHEME_ANNOTATION = `${GROUP}/peer-scheme`;

/**
 * Set on an EtcdPeer: why its member is being removed from the cluster. Written before the removal, so that a later
 * pass knows whether to delete the claim.
 */
export const REMOVAL_ANNOTATION = `${GROUP}/removal`;
/**
 * Reasons of a removal. The first three delete the member's claim.
 * - scale-down: `spec.replicas` was reduced.
 * - never-started: etcd never ran on the claim.
 * - never-voted: the member was a learner when the removal was recorded.
 * - replacement: the member is lost, and its claim is quarantined.
 */
export type Removal = "scale-down" | "never-started" | "never-voted" | "replacement";

/** Whether a removal for this reason deletes the member's claim. For any other reason the claim is kept. */
export function isClaimGoing(removal: string | undefined): boolean {
  return removal === "scale-down" || removal === "never-started" || removal === "never-voted";
}

/** Finalizer on an EtcdPeer: delete its claim first. Added only after etcd no longer lists the member. */
export const CLEANUP_FINALIZER = `etcdpeer.${GROUP}/pvc-cleanup`;
/** Finalizer on an EtcdPeer: quarantine its claim first. */
export const QUARANTINE_FINALIZER = `etcdpeer.${GROUP}/pvc-quarantine`;

/**
 * Set on claims with data of a removed member. They are kept for a manual recovery; the operator never uses them again.
 */
export const QUARANTINE_LABEL = `${GROUP}/quarantined`;
export const QUARANTINE_REASON_ANNOTATION = `${GROUP}/quarantine-reason`;
export const QUARANTINE_TIME_ANNOTATION = `${GROUP}/quarantined-at`;

/**
 * Set on a member's pod: the values of `--initial-cluster` and `--initial-cluster-state`, which etcd reads at each
 * container start. They are annotations because, unlike environment variables, those of a running pod can change.
 */
export const INITIAL_CLUSTER_ANNOTATION = `${GROUP}/initial-cluster`;
export const INITIAL_CLUSTER_STATE_ANNOTATION = `${GROUP}/initial-cluster-state`;

/**
 * Set to https on a member's pod that serves clients over TLS. Clients of the running pod use it, because the spec may
 * describe only the next pod.
 */
export const CLIENT_SCHEME_ANNOTATION = `${GROUP}/client-scheme`;
/**
 * Set on a member's pod: the CA bundle that it trusts, in PEM, mounted by a downward API volume. etcd reads it only at
 * start.
 */
export const PEER_TRUST_ANNOTATION = `${GROUP}/peer-trust`;
export const CLIENT_TRUST_ANNOTATION = `${GROUP}/client-trust`;
/**
 * Set on a member's pod that trusts several CAs: the SHA-256 of the CA that had signed the Secret's certificate when
 * the pod was created.
 */
export const PEER_SIGNER_ANNOTATION = `${GROUP}/peer-signer`;
export const CLIENT_SIGNER_ANNOTATION = `${GROUP}/client-signer`;
/**
 * Set on an EtcdCluster: the CA of this side is to be rotated, once for each value; see rotation-request.ts. A completed
 * rotation stays on record until the annotation is removed.
 */
export const ROTATE_CA_ANNOTATIONS = { peer: `${GROUP}/rotate-peer-ca`, client: `${GROUP}/rotate-client-ca` } as const;
/** Set on the Secret of a CA: the value of the annotation that requested its last rotation. */
export const ROTATED_FOR_ANNOTATION = `${GROUP}/rotated-for`;
/** Volumes of a member's pod with its certificate, its key and the CA bundle. */
export const PEER_TLS_VOLUME = "etcd-peer-tls";
export const CLIENT_TLS_VOLUME = "etcd-client-tls";
/** Mount paths of these volumes. */
export const TLS_PATH = "/etc/etcd/tls";
export const PEER_TLS_PATH = `${TLS_PATH}/peer`;
export const CLIENT_TLS_PATH = `${TLS_PATH}/client`;
/**
 * File names in these volumes, and keys of each Secret with a certificate, as in a Secret of type kubernetes.io/tls.
 */
export const CERTIFICATE_FILE = "tls.crt";
export const KEY_FILE = "tls.key";
export const TRUST_FILE = "ca.crt";

// How does the fence work?
//   etcd reads --initial-cluster only when its data directory has no WAL. If the list does not name the member itself,
//   etcd then exits at once: "couldn't find local name … in the initial cluster configuration". With a WAL etcd ignores
//   the flag.
//   So a fenced member can restart, but never bootstrap (checked with 3.5, 3.6 and 3.7 in test/etcd).
/** Initial cluster without the member itself. The name states the reason, because it appears in etcd's log. */
export const FENCE = "fenced-because-joined=http://fenced.invalid:2380";

/** Name of the webhooks' Service and of the Secret with its serving certificate. */
export const WEBHOOKS = `${OPERATOR}-webhooks`;
/** ClusterRole, and its bindings, with the operator's rights to Secrets, ConfigMaps and cert-manager's Certificates. */
export const TLS_ROLE = `${OPERATOR}-tls`;
/** Path of the validating webhook for EtcdClusters. */
export const CLUSTER_ADMISSION_PATH = "/admission/etcdclusters";
/** Path of the conversion webhook. */
export const CONVERSION_PATH = "/conversion";
/** Name of the validating webhook, which appears in its refusals. */
export const CLUSTER_ADMISSION = `etcdclusters.${GROUP}`;

/** Set on objects of v1alpha1: the fields that only v1beta1 has, as JSON. */
export const BEYOND_V1ALPHA1_ANNOTATION = `${GROUP}/v1beta1`;

/**
 * Set to "true" on an EtcdCluster: the operator reports status, and changes nothing except that it renews certificates.
 */
export const PAUSED_ANNOTATION = `${GROUP}/paused`;
/** Set to "true" on a definition of the operator: it may be deleted, with all objects of its kind. */
export const ALLOW_DELETION_ANNOTATION = `${GROUP}/allow-deletion`;
/** Set on an EtcdCluster: checks that an update skips, and until when; see waivers.ts. */
export const WAIVE_ANNOTATION = `${GROUP}/waive`;

/**
 * Longest name of an EtcdBackup. Its Job has the same name, and Kubernetes puts a Job's name into a label of its pod.
 */
export const MAX_BACKUP_NAME_LENGTH = 63;
/** Set on a Job and its pods: name of their EtcdBackup. */
export const BACKUP_LABEL = `${GROUP}/backup-name`;
/** Name of the container that takes the snapshot. */
export const AGENT_CONTAINER = "agent";
/** Set to "true" on a claim: backups may be stored on it. */
export const BACKUP_DESTINATION_LABEL = `${GROUP}/backup-destination`;
/** Set on pods that mount a ReadWriteOnce claim, to a fingerprint of its name: they must all run on one node. */
export const DESTINATION_CLAIM_LABEL = `${GROUP}/destination-claim`;
/**
 * Set to "true" on a Secret with a certificate from outside the operator: EtcdClusters may mount it, and members may
 * present its certificate.
 */
export const TLS_LABEL = `${GROUP}/tls`;
/** Secret with the store's credentials, used when a destination is a URL without credentials. */
export const DEFAULT_CREDENTIALS_SECRET = "etcd-backup-credentials";
/** Finalizer on an EtcdBackup: delete its stored object first. */
export const OBJECT_FINALIZER = `etcdbackup.${GROUP}/object-cleanup`;
/** Set to "true" on an EtcdBackup that is being deleted: keep its stored object. */
export const KEEP_OBJECT_ANNOTATION = `${GROUP}/keep-object`;
/**
 * Set to "true" on an EtcdBackup: delete its stored object with it, whatever `deletionPolicy` is. The operator sets it,
 * with the finalizer, when the schedule's retention drops the backup.
 */
export const DELETE_OBJECT_ANNOTATION = `${GROUP}/delete-object`;

/**
 * Set on an EtcdBackup: name of the EtcdBackupSchedule that created it, as in the 2020 operator. Without the label,
 * retention ignores the backup.
 */
export const SCHEDULE_LABEL = `${GROUP}/backup-schedule-name`;
/**
 * Set on an EtcdBackup: uid of that EtcdBackupSchedule. Backups of a deleted schedule with the same name are not
 * managed.
 */
export const SCHEDULE_UID_ANNOTATION = `${GROUP}/schedule-uid`;
/** Set on an EtcdBackup that precedes an upgrade: uid of the EtcdCluster. */
export const FIRST_BACKUP_ANNOTATION = `${GROUP}/before-upgrade-of`;

/** Longest name of an EtcdBackupSchedule. Names of its backups append a time, such as -20261122-030000. */
export const MAX_SCHEDULE_NAME_LENGTH = MAX_BACKUP_NAME_LENGTH - "-20261122-030000".length;
/** Longest name of an EtcdRestore, which is a label value on its Jobs and their pods. */
export const MAX_RESTORE_NAME_LENGTH = 63;
/** Set on a Job and its pods: name of their EtcdRestore. */
export const RESTORE_LABEL = `${GROUP}/restore-name`;
/** Label on claims and annotation on an EtcdCluster: uid of the EtcdRestore that created them. */
export const RESTORED_FROM = `${GROUP}/restored-from`;
/** Finalizer on an EtcdRestore: delete its incompletely filled claims first. */
export const CLAIMS_FINALIZER = `etcdrestore.${GROUP}/claim-cleanup`;
/**
 * Containers of a restore's pod, in order: fetch downloads the snapshot, etcdutl restores a data directory, finish
 * moves it into place.
 */
export const FETCH_CONTAINER = "fetch";
export const ETCDUTL_CONTAINER = "etcdutl";
/**
 * Containers of a point-in-time restore: base prepares the data of a temporary etcd, replica runs it, replay applies
 * the archived changes.
 */
export const BASE_CONTAINER = "base";
export const REPLICA_CONTAINER = "replica";
export const REPLAY_CONTAINER = "replay";
export const FINISH_CONTAINER = "finish";
/** Last container of a verification's pod: reads the restored data from a temporary etcd in the same pod. */
export const VERIFY_CONTAINER = "verify";
/**
 * Set on an EtcdCluster or EtcdBackupSchedule: a JSON merge patch of its spec to explain without applying it; see
 * dry-run.ts.
 */
export const DRY_RUN_ANNOTATION = `${GROUP}/dry-run`;

/**
 * Longest names of an EtcdRole and an EtcdUser. Both are names in etcd, and an EtcdUser's name is a label value on its
 * Secret.
 */
export const MAX_ROLE_NAME_LENGTH = 63;
export const MAX_USER_NAME_LENGTH = 63;
/** Set on the Secrets of an EtcdUser: its name. */
export const USER_LABEL = `${GROUP}/user-name`;
/** Set on an EtcdUser: each new value requests one rotation of its credentials. */
export const ROTATE_CREDENTIALS_ANNOTATION = `${GROUP}/rotate-credentials`;
/**
 * Set on the Secret of a binding: when its credentials were created. ROTATED_FOR_ANNOTATION has the value that
 * requested them.
 */
export const ROTATED_AT_ANNOTATION = `${GROUP}/rotated-at`;
/** Finalizers on an EtcdRole or EtcdUser: delete its role or user in etcd first. */
export const ROLE_FINALIZER = `etcdrole.${GROUP}/role-cleanup`;
export const USER_FINALIZER = `etcduser.${GROUP}/user-cleanup`;
/** https://servicebinding.io/spec/core/1.1.0/#provisioned-service */
export const BINDING_TYPE = "servicebinding.io/etcd";

/**
 * Longest cluster name: `NAME-client` and `NAME-12345` must be DNS labels and label values, which have at most 63
 * characters.
 */
export const MAX_CLUSTER_NAME_LENGTH = 52;

/** Name of the EtcdPeer, ReplicaSet, claim and host of the member with this ordinal (0 or more). */
export function peerName(cluster: string, ordinal: number): string {
  return `${cluster}-${ordinal}`;
}

/** The ordinal at the end of a peer's name; `undefined` when the name is not one of this cluster's. */
export function ordinalOf(cluster: string, peer: string): number | undefined {
  if (!peer.startsWith(`${cluster}-`)) return undefined;
  const digits = peer.slice(cluster.length + 1);
  return /^(0|[1-9]\d{0,8})$/.test(digits) ? Number(digits) : undefined;
}

export function headlessServiceName(cluster: string): string {
  return cluster;
}

export function clientServiceName(cluster: string): string {
  return `${cluster}-client`;
}

export function disruptionBudgetName(cluster: string): string {
  return cluster;
}

export function networkPolicyName(cluster: string): string {
  return cluster;
}

/** Secret with the CA of peer certificates, for provider Operator. No pod mounts it. */
export function peerAuthorityName(cluster: string): string {
  return `${cluster}-peer-ca`;
}

/** Secret with the CA of server and client certificates, for provider Operator. No pod mounts it. */
export function clientAuthorityName(cluster: string): string {
  return `${cluster}-client-ca`;
}

/**
 * Whether the Secret's name is reserved for this EtcdCluster: the operator or cert-manager fills, or may later fill, a
 * Secret of this name.
 */
export function isOwnSecretName(cluster: string, secret: string): boolean {
  const own = [peerAuthorityName, clientAuthorityName, rootSecretName, ...CERTIFICATE_NAMES].map((name) =>
    name(cluster),
  );
  return own.includes(secret) || CERTIFICATE_NAMES.some((name) => isIssuedName(name(cluster), secret));
}

const CERTIFICATE_NAMES = [
  peerCertificateName,
  serverCertificateName,
  operatorCertificateName,
  applicationCertificateName,
];

function isIssuedName(own: string, secret: string): boolean {
  return secret.startsWith(`${own}-`) && /^[0-9a-f]{8}$/.test(secret.slice(own.length + 1));
}

/** Whether the name has the form of an EtcdUser's Secret. */
export function isBindingName(secret: string): boolean {
  return [bindingName, bindingCertificateName].some((name) => secret.endsWith(name("")));
}

/** Whether the name has the form of a CA Secret of an EtcdCluster. */
export function isAuthorityName(secret: string): boolean {
  return [peerAuthorityName, clientAuthorityName].some((name) => secret.endsWith(name("")));
}

/** Secret with members' peer certificate, except for provider Secret. */
export function peerCertificateName(cluster: string): string {
  return `${cluster}-peer-tls`;
}

/** Secret with members' server certificate, except for provider Secret. */
export function serverCertificateName(cluster: string): string {
  return `${cluster}-server-tls`;
}

/** Secret with the client certificate of the operator and its agents, except for provider Secret. */
export function operatorCertificateName(cluster: string): string {
  return `${cluster}-operator-tls`;
}

/** Secret with an application's client certificate and the members' addresses. */
export function applicationCertificateName(cluster: string): string {
  return `${cluster}-client`;
}

/** Secret with the password of etcd's root user. */
export function rootSecretName(cluster: string): string {
  return `${cluster}-root`;
}

/** Name of etcd's first user, and of the role with all permissions. */
export const ROOT = "root";

/**
 * Secret that a cert-manager issuer fills. Each issuer has its own Secret, so a new issuer's certificate reaches no
 * member before members trust the new CA.
 * @param own name of the Secret for provider Operator
 * @param issuer eight hexadecimal digits that identify the issuer
 */
export function issuedSecretName(own: string, issuer: string): string {
  return `${own}-${issuer}`;
}

/** ConfigMap with the CA bundle for clients. */
export function trustConfigMapName(cluster: string): string {
  return `${cluster}-ca`;
}

/** Secret with which an application connects as an EtcdUser. */
export function bindingName(user: string): string {
  return `${user}-binding`;
}

/** Certificate requested from cert-manager for an EtcdUser, and the Secret that cert-manager fills for it. */
export function bindingCertificateName(user: string): string {
  return `${user}-binding-tls`;
}

/** Labels on the Secrets of an EtcdUser. */
export function bindingLabels(user: string): Readonly<Record<string, string>> {
  return { [NAME_LABEL]: "etcd-binding", [MANAGED_BY_LABEL]: OPERATOR, [USER_LABEL]: user };
}

/** Stable DNS name of a member. It does not change when the pod is recreated. */
export function peerHost(namespace: string, cluster: string, peer: string): string {
  return `${peer}.${cluster}.${namespace}.svc`;
}

export type Scheme = "http" | "https";

export function peerUrl(host: string, scheme: Scheme = "http"): string {
  return `${scheme}://${host}:${PEER_PORT}`;
}

export function clientUrl(host: string, scheme: Scheme = "http"): string {
  return `${scheme}://${host}:${CLIENT_PORT}`;
}

/**
 * Value of etcd's `--initial-cluster-token`. The uid distinguishes it from earlier clusters of the same name, so that
 * their members cannot be mixed up.
 */
export function clusterToken(namespace: string, cluster: string, uid: string): string {
  return `${namespace}/${cluster}/${uid}`;
}

/** Namespace and name of the EtcdCluster in a token; `undefined` for a token of another form. */
export function placeOfToken(token: string): { readonly namespace: string; readonly name: string } | undefined {
  const [namespace, name, uid, ...rest] = token.split("/");
  if (namespace === undefined || name === undefined || uid === undefined || rest.length > 0) return undefined;
  return { namespace, name };
}

/** Labels on every object of a cluster that has an owner. */
export function clusterLabels(cluster: string): Readonly<Record<string, string>> {
  return { ...ownerlessLabels(cluster), [INSTANCE_LABEL]: cluster };
}

/**
 * Labels on an object of a cluster without an owner. Argo CD may track its applications by the label instance. It would
 * delete an object that has the application's name there, no owner and no manifest.
 */
export function ownerlessLabels(cluster: string): Readonly<Record<string, string>> {
  return { [NAME_LABEL]: NAME_LABEL_VALUE, [MANAGED_BY_LABEL]: OPERATOR, [CLUSTER_LABEL]: cluster };
}

/** Labels on every object of one member that has an owner. */
export function memberLabels(cluster: string, peer: string): Readonly<Record<string, string>> {
  return { ...claimLabels(cluster, peer), [INSTANCE_LABEL]: cluster };
}

/** Labels on a member's claim, which has no owner. The ReplicaSet selects the member's pod by them. */
export function claimLabels(cluster: string, peer: string): Readonly<Record<string, string>> {
  return { ...ownerlessLabels(cluster), [COMPONENT_LABEL]: MEMBER_COMPONENT, [PEER_LABEL]: peer };
}

/**
 * Selects the objects that the operator created for a cluster, as the caches do. Other objects with the cluster's label
 * are excluded.
 */
export function clusterSelector(cluster: string): Readonly<Record<string, string>> {
  return { [MANAGED_BY_LABEL]: OPERATOR, [CLUSTER_LABEL]: cluster };
}

/** Selects only the member pods of a cluster. */
export function memberSelector(cluster: string): Readonly<Record<string, string>> {
  return { [NAME_LABEL]: NAME_LABEL_VALUE, [CLUSTER_LABEL]: cluster, [COMPONENT_LABEL]: MEMBER_COMPONENT };
}

/** Selector as text, `key=value,…`, as for `kubectl --selector` and the scale subresource. */
export function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}

/** Name of the Job that takes the snapshot of an EtcdBackup. */
export function backupJobName(backup: string): string {
  return backup;
}

/**
 * Name of the Job that deletes the stored object of an EtcdBackup.
 * @param uid uid of the EtcdBackup, which makes the name unique
 */
export function deletionJobName(uid: string): string {
  return `delete-${uid}`;
}

/**
 * Name of the Job that verifies the stored object of an EtcdBackup.
 * @param uid uid of the EtcdBackup, which makes the name unique
 */
export function verificationJobName(uid: string): string {
  return `verify-${uid}`;
}

/**
 * Name of the Job that checks whether the object of an EtcdBackup is still stored.
 * @param uid uid of the EtcdBackup, which makes the name unique
 */
export function checkJobName(uid: string): string {
  return `check-${uid}`;
}

/**
 * Labels on the Jobs of an EtcdBackup and their pods. They have no cluster label, so that no cluster selects these
 * pods.
 * @param cluster name of the EtcdCluster; undefined for another etcd
 */
export function backupLabels(backup: string, cluster?: string): Readonly<Record<string, string>> {
  return {
    ...(cluster === undefined ? {} : { [INSTANCE_LABEL]: cluster }),
    [NAME_LABEL]: "etcd-backup",
    [MANAGED_BY_LABEL]: OPERATOR,
    [COMPONENT_LABEL]: BACKUP_COMPONENT,
    [BACKUP_LABEL]: backup,
  };
}

/**
 * Name of the EtcdBackup of a scheduled run. The time makes it unique for each run and stable for repeated attempts.
 * @param dueMs when the run is due, in milliseconds since 1970, a whole second
 */
export function scheduledBackupName(schedule: string, dueMs: number): string {
  const [date = "", time = ""] = new Date(dueMs).toISOString().replaceAll(/[-:]/g, "").split("T");
  return `${schedule}-${date}-${time.slice(0, 6)}`;
}

/** Name of the EtcdBackup that archives changes for a schedule. */
export function archiveBackupName(schedule: string): string {
  return `${schedule}-changes`;
}

/**
 * When the run of this EtcdBackup was due, in milliseconds since 1970; `undefined` when no run of the schedule has this
 * name.
 */
export function dueTimeOf(schedule: string, backup: string): number | undefined {
  const name = `${schedule}-`;
  const digits = backup.startsWith(name) ? backup.slice(name.length) : "";
  const parts = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/.exec(digits);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const dueMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(dueMs) ? undefined : dueMs;
}

/**
 * Name of the EtcdBackup that precedes an upgrade to another minor release.
 * @param minor such as 3.7 @param number of the attempt, from 1
 */
export function firstBackupName(cluster: string, minor: string, number: number): string {
  const rest = `-before-${minor}-${number}`;
  const isShort = cluster.length + rest.length <= MAX_BACKUP_NAME_LENGTH;
  return `${isShort ? cluster : `cluster-${fingerprint(cluster)}`}${rest}`;
}

/** Labels on the EtcdBackups of a schedule. */
export function scheduledBackupLabels(schedule: string): Readonly<Record<string, string>> {
  return { [MANAGED_BY_LABEL]: OPERATOR, [SCHEDULE_LABEL]: schedule };
}

/**
 * Name of the Job that fills the claim of the member with this ordinal.
 * @param uid uid of the EtcdRestore, which makes the name unique
 */
export function restoreJobName(uid: string, ordinal: number): string {
  return `restore-${uid}-${ordinal}`;
}

/**
 * Labels on the Jobs of an EtcdRestore and their pods. They have no cluster label, so that no cluster selects these
 * pods.
 */
export function restoreLabels(restore: string, cluster: string): Readonly<Record<string, string>> {
  return {
    [INSTANCE_LABEL]: cluster,
    [NAME_LABEL]: "etcd-restore",
    [MANAGED_BY_LABEL]: OPERATOR,
    [COMPONENT_LABEL]: RESTORE_COMPONENT,
    [RESTORE_LABEL]: restore,
  };
}
