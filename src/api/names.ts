import { fingerprint } from "#base/hash.ts";

/**
 * Every name, label and annotation that the operator makes, in one place: they are a contract with users,
 * with the 2020 operator of the same API group, and between the controller rooms.
 */

export const GROUP = "etcd.improbable.io";
/** What the operator, its image, its Deployment and its field manager are called. */
export const OPERATOR = "etcd-cluster-operator";

/** The lease by which a process leads one of the operator's shards (decision 35). @param shard its number, from 0 */
export function shardLeaseName(shard: number): string {
  return `${OPERATOR}-shard-${shard}`;
}

/** Where etcd's images come from, without tag, when nobody says otherwise. */
export const ETCD_REPOSITORY = "gcr.io/etcd-development/etcd";

/** What etcd's container is called in each member's pod. */
export const ETCD_CONTAINER = "etcd";

/** The volume of a member's pod that holds its data. */
export const DATA_VOLUME = "etcd-data";
/** Where it is mounted. The data is one folder below, so that file systems may keep things of their own beside it. */
export const VOLUME_PATH = "/var/lib/etcd";

export const CLIENT_PORT = 2379;
export const PEER_PORT = 2380;
/** Plain HTTP for `/metrics`, `/livez` and `/readyz`; never carries data. */
export const METRICS_PORT = 2381;
/** Port names are a contract: `_etcd-client._tcp.NAME` is how `etcdctl --discovery-srv NAME` finds a cluster. */
export const CLIENT_PORT_NAME = "etcd-client";
/** The headless Service's name of the same port where members serve clients over TLS alone: etcd's clients look for both names. */
export const CLIENT_TLS_PORT_NAME = "etcd-client-ssl";
export const PEER_PORT_NAME = "etcd-peer";
export const METRICS_PORT_NAME = "etcd-metrics";

export const NAME_LABEL = "app.kubernetes.io/name";
const NAME_LABEL_VALUE = "etcd";
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
const COMPONENT_LABEL = "app.kubernetes.io/component";
/** Marks pods that are members, as opposed to the pods of backups and restores: budgets and Services select by it. */
const MEMBER_COMPONENT = "member";
const BACKUP_COMPONENT = "backup";
const RESTORE_COMPONENT = "restore";
export const CLUSTER_LABEL = `${GROUP}/cluster-name`;
export const PEER_LABEL = `${GROUP}/peer-name`;

/** Hash of the object as we last applied it: nothing is written while it equals the hash of what is wanted. */
export const APPLIED_HASH_ANNOTATION = `${GROUP}/applied-hash`;
/** On a ReplicaSet, its template, and thereby each pod: the revision (api/revision.ts) that the pod was or will be made from. */
export const REVISION_ANNOTATION = `${GROUP}/revision`;
/**
 * On the client Service: which of its labels and annotations come from `spec.clientService.metadata`, as JSON. What stands here and is
 * not asked for any more goes; all others belong to somebody else.
 */
export const METADATA_KEYS_ANNOTATION = `${GROUP}/metadata-keys`;
/** On claims: whose data this is. A claim outlives every other object of its member. */
export const CLAIM_CLUSTER_ID_ANNOTATION = `${GROUP}/cluster-id`;
export const CLAIM_CLUSTER_TOKEN_ANNOTATION = `${GROUP}/cluster-token`;
export const CLAIM_MEMBER_ID_ANNOTATION = `${GROUP}/member-id`;
/**
 * https on claims of members that the others reach over TLS, and on pods that listen for it. Members know each other by their URLs, so whoever comes
 * back has to be reached as before.
 */
export const PEER_SCHEME_ANNOTATION = `${GROUP}/peer-scheme`;

/**
 * On an EtcdPeer: why its member is being taken out of the cluster. Written before the member is removed, so that whoever
 * goes on later knows what is to become of the data.
 */
export const REMOVAL_ANNOTATION = `${GROUP}/removal`;
/**
 * scale-down: somebody asked for fewer members, the claim goes too. never-started: no etcd ever ran on its claim, which goes
 * too. replacement: the member is lost, its claim is kept aside.
 */
export type Removal = "scale-down" | "never-started" | "replacement";

/** Whether the claim goes with a member that leaves for this reason; every other one is kept. */
export function isClaimGoing(removal: string | undefined): boolean {
  return removal === "scale-down" || removal === "never-started";
}

/** On an EtcdPeer that goes: its claim is deleted first. Only ever put on a peer whose member etcd no longer lists. */
export const CLEANUP_FINALIZER = `etcdpeer.${GROUP}/pvc-cleanup`;
/** On an EtcdPeer that goes: its claim is marked and kept first. */
export const QUARANTINE_FINALIZER = `etcdpeer.${GROUP}/pvc-quarantine`;

/** On claims that hold the data of a member that was given up: kept for people, never used again by the operator. */
export const QUARANTINE_LABEL = `${GROUP}/quarantined`;
export const QUARANTINE_REASON_ANNOTATION = `${GROUP}/quarantine-reason`;
export const QUARANTINE_TIME_ANNOTATION = `${GROUP}/quarantined-at`;

/**
 * On a member's pod: what etcd reads as `--initial-cluster` and `--initial-cluster-state`, at every start of its container.
 * Annotations, because those of a running pod can be changed, unlike its environment.
 */
export const INITIAL_CLUSTER_ANNOTATION = `${GROUP}/initial-cluster`;
export const INITIAL_CLUSTER_STATE_ANNOTATION = `${GROUP}/initial-cluster-state`;

/** On a member's pod whose client port speaks TLS: https. Who dials a pod asks the pod, and not what is wanted of its next one. */
export const CLIENT_SCHEME_ANNOTATION = `${GROUP}/client-scheme`;
/** On a member's pod: the authorities that it trusts, in PEM, which a volume shows to etcd. etcd reads them when it starts, and not again. */
export const PEER_TRUST_ANNOTATION = `${GROUP}/peer-trust`;
export const CLIENT_TRUST_ANNOTATION = `${GROUP}/client-trust`;
/** On a member's pod, while it trusts several authorities: which of them had signed what its Secret held before it was made, as SHA-256. */
export const PEER_SIGNER_ANNOTATION = `${GROUP}/peer-signer`;
export const CLIENT_SIGNER_ANNOTATION = `${GROUP}/client-signer`;
/** On an EtcdCluster: which authorities are to be followed by new ones: see rotation-wish.ts. What is done stays on record until it is taken away. */
export const ROTATE_CA_ANNOTATION = `${GROUP}/rotate-ca`;
/** On the Secret of an authority: by which wish of a person it was followed by another one last. */
export const ROTATED_FOR_ANNOTATION = `${GROUP}/rotated-for`;
/** The volumes of a member's pod with what it shows, and with whom it trusts. */
export const PEER_TLS_VOLUME = "etcd-peer-tls";
export const CLIENT_TLS_VOLUME = "etcd-client-tls";
/** Where they are mounted. */
export const TLS_PATH = "/etc/etcd/tls";
export const PEER_TLS_PATH = `${TLS_PATH}/peer`;
export const CLIENT_TLS_PATH = `${TLS_PATH}/client`;
/** What the files in these volumes, and the keys of each Secret with a certificate, are called, as in a Secret of the type kubernetes.io/tls. */
export const CERTIFICATE_FILE = "tls.crt";
export const KEY_FILE = "tls.key";
export const TRUST_FILE = "ca.crt";

// How does the fence work?
//   etcd looks at --initial-cluster only when its data directory holds no WAL. A list that does not name the member itself
//   then ends it at once: "couldn't find local name … in the initial cluster configuration". With a WAL it is ignored.
//   So these flags can restart a member, and can never bootstrap one (checked against 3.5, 3.6 and 3.7 in test/etcd).
/** An initial cluster without the member itself. The name says why to whoever reads it in a log. */
export const FENCE = "fenced-because-joined=http://fenced.invalid:2380";

/** The Service by which the API server calls the operator, and the Secret that holds the certificate that it shows then. */
export const WEBHOOKS = `${OPERATOR}-webhooks`;
/** The ClusterRole with the operator's rights to Secrets, ConfigMaps and cert-manager's Certificates, and the bindings of it. */
export const TLS_ROLE = `${OPERATOR}-tls`;
/** Path of the webhook that checks EtcdClusters. */
export const CLUSTER_ADMISSION_PATH = "/admission/etcdclusters";
/** Path of the webhook that turns objects of one version of the API into those of another. */
export const CONVERSION_PATH = "/conversion";
/** What people read when it refuses something. */
export const CLUSTER_ADMISSION = `etcdclusters.${GROUP}`;

/** On objects of v1alpha1: what v1beta1 says of them beyond what v1alpha1 can, as JSON. */
export const BEYOND_V1ALPHA1_ANNOTATION = `${GROUP}/v1beta1`;

/** On an EtcdCluster, with the value "true": the operator looks and tells, and changes nothing. */
export const PAUSED_ANNOTATION = `${GROUP}/paused`;
/** On an EtcdCluster: which checks an update does not wait for, and until when; see waivers.ts. */
export const WAIVE_ANNOTATION = `${GROUP}/waive`;

/** The longest name of an EtcdBackup: its Job has the same one, which Kubernetes puts into a label of its pod. */
export const MAX_BACKUP_NAME_LENGTH = 63;
/** On a Job and its pods: the EtcdBackup that they are of. */
export const BACKUP_LABEL = `${GROUP}/backup-name`;
/** The container that takes the snapshot. */
export const AGENT_CONTAINER = "agent";
/** On a claim, with the value "true": backups may be stored on it. */
export const BACKUP_DESTINATION_LABEL = `${GROUP}/backup-destination`;
/** On a Secret that somebody else fills, with the value "true": EtcdClusters may have it mounted, and show what it holds. */
export const TLS_LABEL = `${GROUP}/tls`;
/** The Secret with what a store is asked when a destination's URL is given without credentials. */
export const DEFAULT_CREDENTIALS_SECRET = "etcd-backup-credentials";
/** On an EtcdBackup that goes: its object is deleted first. */
export const OBJECT_FINALIZER = `etcdbackup.${GROUP}/object-cleanup`;
/** On an EtcdBackup that goes, with the value "true": it may go, and its object stays. */
export const KEEP_OBJECT_ANNOTATION = `${GROUP}/keep-object`;
/**
 * On an EtcdBackup, with the value "true": its object goes with it, whatever its objectPolicy says. The operator writes it together with the
 * finalizer, when the retention of its EtcdBackupSchedule gives the object away.
 */
export const DELETE_OBJECT_ANNOTATION = `${GROUP}/delete-object`;

/** On an EtcdBackup: the EtcdBackupSchedule that made it. The operator of 2020 had the same label. Who takes it away keeps the backup. */
export const SCHEDULE_LABEL = `${GROUP}/backup-schedule-name`;
/** On an EtcdBackup: the uid of that EtcdBackupSchedule. What an earlier one of the same name has made is not looked after. */
export const SCHEDULE_UID_ANNOTATION = `${GROUP}/schedule-uid`;
/** On an EtcdBackup: the uid of the EtcdCluster before whose upgrade it was made. */
export const FIRST_BACKUP_ANNOTATION = `${GROUP}/before-upgrade-of`;

/** The longest name of an EtcdBackupSchedule: its backups' names are longer by a time, such as -20261122-030000. */
export const MAX_SCHEDULE_NAME_LENGTH = MAX_BACKUP_NAME_LENGTH - "-20261122-030000".length;
/** The longest name of an EtcdRestore: it stands in a label of its Jobs and their pods. */
export const MAX_RESTORE_NAME_LENGTH = 63;
/** On a Job and its pods: the EtcdRestore that they are of. */
export const RESTORE_LABEL = `${GROUP}/restore-name`;
/** A label of claims and an annotation of an EtcdCluster: the uid of the EtcdRestore that made them. */
export const RESTORED_FROM = `${GROUP}/restored-from`;
/** On an EtcdRestore: its claims that hold no whole data are deleted before it goes. */
export const CLAIMS_FINALIZER = `etcdrestore.${GROUP}/claim-cleanup`;
/** The containers of a restore's pod, one after another: brings the snapshot, makes a data directory of it, puts that in its place. */
export const FETCH_CONTAINER = "fetch";
export const ETCDUTL_CONTAINER = "etcdutl";
/** Of a restore to a point in time: what makes the data of a throw-away etcd, that etcd, and what brings it to the point. */
export const BASE_CONTAINER = "base";
export const REPLICA_CONTAINER = "replica";
export const REPLAY_CONTAINER = "replay";
export const FINISH_CONTAINER = "finish";
/** The last container of the pod that verifies a backup: asks a throw-away etcd beside it for the data. */
export const VERIFY_CONTAINER = "verify";
/** On an EtcdCluster or an EtcdBackupSchedule: an edit of its spec that is to be explained and not made, as a JSON merge patch; see dry-run.ts. */
export const DRY_RUN_ANNOTATION = `${GROUP}/dry-run`;

/** The longest names of an EtcdRole and an EtcdUser: they are names in etcd, and that of an EtcdUser stands in a label of its Secret. */
export const MAX_ROLE_NAME_LENGTH = 63;
export const MAX_USER_NAME_LENGTH = 63;
/** On the Secrets of an EtcdUser: its name. */
export const USER_LABEL = `${GROUP}/user-name`;
/** On an EtcdUser: new credentials are wanted now, once for each value. */
export const ROTATE_CREDENTIALS_ANNOTATION = `${GROUP}/rotate-credentials`;
/** On the Secret of a binding: when its credentials were made. For which value of that annotation, ROTATED_FOR_ANNOTATION says. */
export const ROTATED_AT_ANNOTATION = `${GROUP}/rotated-at`;
/** On an EtcdRole or EtcdUser: what it has made in etcd is deleted before it goes. */
export const ROLE_FINALIZER = `etcdrole.${GROUP}/role-cleanup`;
export const USER_FINALIZER = `etcduser.${GROUP}/user-cleanup`;
/** https://servicebinding.io/spec/core/1.1.0/#provisioned-service */
export const BINDING_TYPE = "servicebinding.io/etcd";

/** The longest cluster name: `NAME-client` and `NAME-12345` must be DNS labels and label values, which end at 63. */
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

/** The Secret with the authority by which members know each other, when the operator issues. No pod has it. */
export function peerAuthorityName(cluster: string): string {
  return `${cluster}-peer-ca`;
}

/** The Secret with the authority by which members and clients know each other, when the operator issues. No pod has it. */
export function clientAuthorityName(cluster: string): string {
  return `${cluster}-client-ca`;
}

/** Whether it is, or may come to be, the name of a Secret that the operator, or cert-manager at its asking, fills for this EtcdCluster. */
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

/** Whether the Secret of some EtcdUser has such a name. */
export function isBindingName(secret: string): boolean {
  return [bindingName, bindingCertificateName].some((name) => secret.endsWith(name("")));
}

/** Whether an authority of some EtcdCluster has such a name. */
export function isAuthorityName(secret: string): boolean {
  return [peerAuthorityName, clientAuthorityName].some((name) => secret.endsWith(name("")));
}

/** The Secret with what members show to each other, unless somebody else brings it. */
export function peerCertificateName(cluster: string): string {
  return `${cluster}-peer-tls`;
}

/** The Secret with what members show to clients, unless somebody else brings it. */
export function serverCertificateName(cluster: string): string {
  return `${cluster}-server-tls`;
}

/** The Secret with what the operator and its agents show to members, unless somebody else brings it. */
export function operatorCertificateName(cluster: string): string {
  return `${cluster}-operator-tls`;
}

/** The Secret with what an application shows to members, and where they are. */
export function applicationCertificateName(cluster: string): string {
  return `${cluster}-client`;
}

/** The Secret with the password of etcd's user root. */
export function rootSecretName(cluster: string): string {
  return `${cluster}-root`;
}

/** etcd's first user, and the role of those who may do everything. */
export const ROOT = "root";

/**
 * The Secret that an issuer of cert-manager fills, in place of one of the operator's own: what another issuer signs never gets into what members
 * show before they trust it.
 * @param own the name of the operator's own Secret
 * @param issuer eight hexadecimal digits that tell it from others
 */
export function issuedSecretName(own: string, issuer: string): string {
  return `${own}-${issuer}`;
}

/** The ConfigMap with whom clients have to trust. */
export function trustConfigMapName(cluster: string): string {
  return `${cluster}-ca`;
}

/** The Secret by which an application connects as the user of an EtcdUser. */
export function bindingName(user: string): string {
  return `${user}-binding`;
}

/** The Certificate that cert-manager is asked for, for such a Secret, and the Secret into which cert-manager writes it. */
export function bindingCertificateName(user: string): string {
  return `${user}-binding-tls`;
}

/** Labels on the Secrets of an EtcdUser. */
export function bindingLabels(user: string): Readonly<Record<string, string>> {
  return { [NAME_LABEL]: "etcd-binding", [MANAGED_BY_LABEL]: OPERATOR, [USER_LABEL]: user };
}

/** Stable DNS name of a member: it stays while pods and their addresses come and go. */
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
 * etcd's `--initial-cluster-token`. The uid makes it unlike that of every earlier cluster of the same name, so that
 * a member of one can never be taken for a member of the other.
 */
export function clusterToken(namespace: string, cluster: string, uid: string): string {
  return `${namespace}/${cluster}/${uid}`;
}

/** Labels on every object of a cluster. */
export function clusterLabels(cluster: string): Readonly<Record<string, string>> {
  return { [NAME_LABEL]: NAME_LABEL_VALUE, [MANAGED_BY_LABEL]: OPERATOR, [CLUSTER_LABEL]: cluster };
}

/** Labels on every object of one member, its claim included. */
export function memberLabels(cluster: string, peer: string): Readonly<Record<string, string>> {
  return { ...clusterLabels(cluster), [COMPONENT_LABEL]: MEMBER_COMPONENT, [PEER_LABEL]: peer };
}

/** What selects the objects that the operator has made for a cluster, as the caches know them: whatever else has the name of a cluster on it is none of them. */
export function clusterSelector(cluster: string): Readonly<Record<string, string>> {
  return { [MANAGED_BY_LABEL]: OPERATOR, [CLUSTER_LABEL]: cluster };
}

/** What selects the member pods of a cluster and nothing else. */
export function memberSelector(cluster: string): Readonly<Record<string, string>> {
  return { [NAME_LABEL]: NAME_LABEL_VALUE, [CLUSTER_LABEL]: cluster, [COMPONENT_LABEL]: MEMBER_COMPONENT };
}

/** `key=value,…`, as `kubectl --selector` and the scale subresource write it. */
export function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}

/** The Job that takes the snapshot of an EtcdBackup. */
export function backupJobName(backup: string): string {
  return backup;
}

/** The Job that deletes the object of an EtcdBackup. @param uid of the EtcdBackup: no other Job has this name */
export function deletionJobName(uid: string): string {
  return `delete-${uid}`;
}

/** The Job that verifies the object of an EtcdBackup. @param uid of the EtcdBackup: no other Job has this name */
export function verificationJobName(uid: string): string {
  return `verify-${uid}`;
}

/** Labels on the Jobs of an EtcdBackup and their pods. They are no members of a cluster, and no cluster's labels are on them. */
export function backupLabels(backup: string): Readonly<Record<string, string>> {
  return {
    [NAME_LABEL]: "etcd-backup",
    [MANAGED_BY_LABEL]: OPERATOR,
    [COMPONENT_LABEL]: BACKUP_COMPONENT,
    [BACKUP_LABEL]: backup,
  };
}

/** The EtcdBackup of the run that is due at this time. Two runs never have the same name, and one run never two. @param dueMs since 1970, a whole second */
export function scheduledBackupName(schedule: string, dueMs: number): string {
  const [date = "", time = ""] = new Date(dueMs).toISOString().replaceAll(/[-:]/g, "").split("T");
  return `${schedule}-${date}-${time.slice(0, 6)}`;
}

/** The EtcdBackup that archives changes for a schedule. */
export function archiveBackupName(schedule: string): string {
  return `${schedule}-changes`;
}

/** When the run was due whose EtcdBackup has this name, in milliseconds since 1970; `undefined` when no run of the schedule has it. */
export function dueTimeOf(schedule: string, backup: string): number | undefined {
  const name = `${schedule}-`;
  const digits = backup.startsWith(name) ? backup.slice(name.length) : "";
  const parts = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/.exec(digits);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const dueMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(dueMs) ? undefined : dueMs;
}

/** The EtcdBackup before members go to another minor release. @param minor such as 3.7 @param number from 1 */
export function firstBackupName(cluster: string, minor: string, number: number): string {
  const rest = `-before-${minor}-${number}`;
  const isShort = cluster.length + rest.length <= MAX_BACKUP_NAME_LENGTH;
  return `${isShort ? cluster : `cluster-${fingerprint(cluster)}`}${rest}`;
}

/** Labels on the EtcdBackups of a schedule. */
export function scheduledBackupLabels(schedule: string): Readonly<Record<string, string>> {
  return { [MANAGED_BY_LABEL]: OPERATOR, [SCHEDULE_LABEL]: schedule };
}

/** The Job that fills the claim of the member with this ordinal. @param uid of the EtcdRestore: no other Job has this name */
export function restoreJobName(uid: string, ordinal: number): string {
  return `restore-${uid}-${ordinal}`;
}

/** Labels on the Jobs of an EtcdRestore and their pods. They are no members of a cluster, and no cluster's labels are on them. */
export function restoreLabels(restore: string): Readonly<Record<string, string>> {
  return {
    [NAME_LABEL]: "etcd-restore",
    [MANAGED_BY_LABEL]: OPERATOR,
    [COMPONENT_LABEL]: RESTORE_COMPONENT,
    [RESTORE_LABEL]: restore,
  };
}
