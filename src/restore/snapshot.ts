import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIMS_FINALIZER, RESTORED_FROM } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { Attempted } from "#backup/snapshot.ts";
import type { Observed } from "#base/observed.ts";
import { controllerOf, type KubeObject, type PersistentVolumeClaim } from "#kube/kinds.ts";
import { restoredIdentity } from "#restore/identity.ts";

/** What there is of a member that is to be. */
export interface RestoredMember {
  /** Of the claim, and later of the member. */
  readonly name: string;
  readonly ordinal: number;
  /** The claim of this name, whoever made it. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** The Job that fills it, with its pods. */
  readonly filling: Attempted | undefined;
}

/** All that one decision about an EtcdRestore may use. Built by observe.ts, read-only ever after. */
export interface RestoreSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  readonly restore: EtcdRestore;
  /** By ordinal: one for each that `spec.clusterTemplate.spec.replicas` asks for. */
  readonly members: readonly RestoredMember[];
  /** The claims, in order of their names, that have the label of the cluster and are none of the members'. */
  readonly otherClaims: readonly PersistentVolumeClaim[];
  /** The EtcdCluster of the name, whoever made it. */
  readonly cluster: EtcdCluster | undefined;
  /** The EtcdBackup of `spec.source.backupName`; `undefined` when there is none, or none is named. */
  readonly backup: EtcdBackup | undefined;
  /** The claim on which the object is, if it is on one; before the first Job is made, as the API server has it. */
  readonly sourceClaim: PersistentVolumeClaim | undefined;
  /** What Kubernetes warned of, the newest first, about a Job or a pod that does not get on; asked for only then, else empty. */
  readonly warnings: readonly string[];
  /** A linearizable read of the cluster: its revision. `undefined`: not asked, because it is not there yet. Never `absent`. */
  readonly read: Observed<bigint> | undefined;
  /** The operator's own image: a setting of the operator. */
  readonly agentImage: string | undefined;
  /** Where etcd's images come from, without tag: a setting of the operator. */
  readonly imageRepository: string;
}

/** Whether this very EtcdRestore, not an earlier one of the same name, manages the object. */
export function isOwned({ restore }: RestoreSnapshot, object: KubeObject): boolean {
  return controllerOf(object)?.uid === restore.metadata.uid;
}

/** Whether this very EtcdRestore has made the claim. Claims have no owner: nothing takes their data along. */
export function isOurs({ restore }: RestoreSnapshot, { metadata }: PersistentVolumeClaim): boolean {
  return metadata.labels?.[RESTORED_FROM] === restore.metadata.uid;
}

/** Whether the claim says whose data it holds: from then on a cluster may have taken it. */
export function isTold({ metadata }: PersistentVolumeClaim): boolean {
  return metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] !== undefined;
}

/** Whether the claim is there to stay: one that is being deleted no cluster takes, and no pod starts with it. */
export function isStaying(claim: PersistentVolumeClaim | undefined): claim is PersistentVolumeClaim {
  return claim !== undefined && claim.metadata.deletionTimestamp === undefined;
}

/** Whether a cluster can begin with the claim: it was handed over by this restore, and is there to stay. */
export function isHandedOver(snapshot: RestoreSnapshot, claim: PersistentVolumeClaim | undefined): boolean {
  return isStaying(claim) && isOurs(snapshot, claim) && isTold(claim);
}

/** Claims that this restore has made and that hold nobody's data: they may be half filled. */
export function untoldClaims(snapshot: RestoreSnapshot): readonly PersistentVolumeClaim[] {
  return snapshot.members.flatMap(({ claim }) =>
    claim !== undefined && isOurs(snapshot, claim) && !isTold(claim) ? [claim] : [],
  );
}

/** Whether the data is complete: one claim has been told, which is done only when all are filled. */
export function isComplete(snapshot: RestoreSnapshot): boolean {
  return snapshot.members.some(({ claim }) => claim !== undefined && isOurs(snapshot, claim) && isTold(claim));
}

/** Whether the EtcdCluster has taken the claims: from then on they are its own. */
export function isTaken({ restore, cluster }: RestoreSnapshot): boolean {
  return cluster?.status?.identity?.clusterID === restoredIdentity(restore).clusterID;
}

/** Whether the EtcdCluster has taken the claims, or was made of them by this restore and knows nothing yet: all of them were filled by then. */
export function hasBegun(snapshot: RestoreSnapshot): boolean {
  const { cluster, restore } = snapshot;
  const isMade = cluster?.metadata.annotations?.[RESTORED_FROM] === restore.metadata.uid;
  return isTaken(snapshot) || (isMade && cluster.status?.identity === undefined);
}

/** Whether it is on record that all claims were filled: a cluster may have lived on them since, also one that is gone, whatever they say by now. */
export function wasComplete({ restore }: RestoreSnapshot): boolean {
  return restore.status?.phase === "Completed" || restore.status?.begun === true;
}

/** Completed and Failed are for ever. */
export function hasEnded({ restore }: RestoreSnapshot): boolean {
  return restore.status?.phase === "Completed" || restore.status?.phase === "Failed";
}

export function isDeleting({ restore }: RestoreSnapshot): boolean {
  return restore.metadata.deletionTimestamp !== undefined;
}

/** Whether what it has made is looked after before it goes. */
export function isHeld({ restore }: RestoreSnapshot): boolean {
  return restore.metadata.finalizers?.includes(CLAIMS_FINALIZER) === true;
}

/** Whether it was given up: it has failed, or is being deleted before there is anything that a cluster could begin with. */
export function isGivenUp(snapshot: RestoreSnapshot): boolean {
  if (isComplete(snapshot) || hasBegun(snapshot) || wasComplete(snapshot)) return false;
  return snapshot.restore.status?.phase === "Failed" || isDeleting(snapshot);
}

/** The EtcdCluster that asked for this restore by its own spec, by uid: it is there before its data is. */
export function askingCluster({ restore }: RestoreSnapshot): string | undefined {
  const owner = controllerOf(restore);
  return owner?.kind === ETCD_CLUSTERS.kind && owner.name === restore.spec.clusterTemplate.clusterName
    ? owner.uid
    : undefined;
}
