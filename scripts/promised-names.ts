import * as names from "#api/names.ts";
import { ROLL_ANNOTATION } from "#shards/lease-roll.ts";

// Every label, annotation and finalizer of the operator, and which of them people may rely on.

type Row = readonly [name: string, on: string, meaning: string];

/** Labels that people set. */
export const YOUR_LABELS: readonly Row[] = [
  [names.TLS_LABEL, "Secret of yours", "`true`: EtcdClusters may use its certificate."],
  [names.BACKUP_DESTINATION_LABEL, "claim of yours", "`true`: backups may be stored on it."],
  [names.CLUSTER_LABEL, "Secret `NAME-root` of yours", "Lets the cluster of this name use your password for root."],
];

/** Annotations that people set. */
export const YOUR_ANNOTATIONS: readonly Row[] = [
  [names.PAUSED_ANNOTATION, "EtcdCluster", "`true`: only certificates are renewed."],
  [names.WAIVE_ANNOTATION, "EtcdCluster", "Checks that an update skips, and until when."],
  [names.DRY_RUN_ANNOTATION, "EtcdCluster, EtcdBackupSchedule", "A merge patch of the spec, which is only explained."],
  [names.ROTATE_CA_ANNOTATIONS.peer, "EtcdCluster", "Each new value rotates the CA of members."],
  [names.ROTATE_CA_ANNOTATIONS.client, "EtcdCluster", "Each new value rotates the CA of clients."],
  [names.ROTATE_CREDENTIALS_ANNOTATION, "EtcdUser", "Each new value requests new credentials."],
  [names.KEEP_OBJECT_ANNOTATION, "EtcdBackup", "`true`: its stored object stays when it is deleted."],
  [names.ALLOW_DELETION_ANNOTATION, "definition of the operator", "`true`: it may be deleted, with all its objects."],
];

/** Labels of the operator by which people may select. */
export const LABELS: readonly Row[] = [
  [names.MANAGED_BY_LABEL, "all", `\`${names.OPERATOR}\``],
  [names.INSTANCE_LABEL, "objects with an owner", "the name of the EtcdCluster"],
  [names.NAME_LABEL, "all but EtcdBackups", "`etcd`, `etcd-backup`, `etcd-restore` or `etcd-binding`"],
  ["app.kubernetes.io/component", "pods, claims, Jobs", "`member`, `backup` or `restore`"],
  [names.CLUSTER_LABEL, "objects of an EtcdCluster", "its name"],
  [names.PEER_LABEL, "objects of a member", "the name of its EtcdPeer"],
  [names.QUARANTINE_LABEL, "claims", "`true`: the claim is quarantined."],
  [names.BACKUP_LABEL, "Jobs and their pods", "the name of their EtcdBackup"],
  [names.DESTINATION_CLAIM_LABEL, "pods of backups", "a fingerprint of the ReadWriteOnce claim that they mount"],
  [names.RESTORE_LABEL, "Jobs and their pods", "the name of their EtcdRestore"],
  [names.SCHEDULE_LABEL, "EtcdBackups", "the EtcdBackupSchedule that made it. Without the label retention ignores it."],
  [names.USER_LABEL, "Secrets of an EtcdUser", "its name"],
];

export const FINALIZERS: readonly Row[] = [
  [names.CLEANUP_FINALIZER, "EtcdPeer", "Deletes the member's claim first."],
  [names.QUARANTINE_FINALIZER, "EtcdPeer", "Quarantines the member's claim first."],
  [names.OBJECT_FINALIZER, "EtcdBackup", "Deletes the stored object first."],
  [names.CLAIMS_FINALIZER, "EtcdRestore", "Deletes claims that are not filled first."],
  [names.ROLE_FINALIZER, "EtcdRole", "Deletes the role in etcd first."],
  [names.USER_FINALIZER, "EtcdUser", "Deletes the user in etcd first."],
];

/** Labels and annotations that the operator sets for itself. */
export const KEPT: readonly (readonly [on: string, kept: readonly string[]])[] = [
  ["objects that the operator creates", [names.APPLIED_HASH_ANNOTATION]],
  ["Services, PodMonitors, Secrets, ConfigMaps", [names.METADATA_KEYS_ANNOTATION]],
  ["EtcdClusters, claims", [names.RESTORED_FROM]],
  [
    "claims",
    [
      names.CLAIM_CLUSTER_ID_ANNOTATION,
      names.CLAIM_CLUSTER_TOKEN_ANNOTATION,
      names.CLAIM_MEMBER_ID_ANNOTATION,
      names.CLAIM_RELEASE_ANNOTATION,
      names.QUARANTINE_REASON_ANNOTATION,
      names.QUARANTINE_TIME_ANNOTATION,
    ],
  ],
  ["claims and pods of members", [names.PEER_SCHEME_ANNOTATION]],
  ["EtcdPeers", [names.REMOVAL_ANNOTATION]],
  [
    "ReplicaSets and pods of members",
    [
      names.REVISION_ANNOTATION,
      names.INITIAL_CLUSTER_ANNOTATION,
      names.INITIAL_CLUSTER_STATE_ANNOTATION,
      names.CLIENT_SCHEME_ANNOTATION,
      names.PEER_TRUST_ANNOTATION,
      names.CLIENT_TRUST_ANNOTATION,
      names.PEER_SIGNER_ANNOTATION,
      names.CLIENT_SIGNER_ANNOTATION,
    ],
  ],
  ["Secrets", [names.ROTATED_FOR_ANNOTATION, names.ROTATED_AT_ANNOTATION]],
  ["EtcdBackups", [names.DELETE_OBJECT_ANNOTATION, names.SCHEDULE_UID_ANNOTATION, names.FIRST_BACKUP_ANNOTATION]],
  ["objects of `v1alpha1`", [names.BEYOND_V1ALPHA1_ANNOTATION]],
  ["leases", [ROLL_ANNOTATION]],
];

/** Names of src/api/names.ts that no list of this file has. */
export function unlistedNames(): readonly string[] {
  const rows = [...YOUR_LABELS, ...YOUR_ANNOTATIONS, ...LABELS, ...FINALIZERS].map(([name]) => name);
  const listed = new Set([...rows, ...KEPT.flatMap(([, kept]) => kept)]);
  const all = Object.values(names).flatMap(textsIn);
  return all.filter((value) => value.includes(`${names.GROUP}/`) && !listed.has(value));
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
