import type { Attempted } from "#agent-job/job-state.ts";
import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIMS_FINALIZER, RESTORED_FROM } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { Observed } from "#base/observed.ts";
import { controllerOf, type KubeObject, type PersistentVolumeClaim } from "#kube/kinds.ts";
import { restoredIdentity } from "#restore/identity.ts";

/** A member of the future cluster. */
export interface RestoredMember {
  /** Name of the claim, and later of the member. */
  readonly name: string;
  readonly ordinal: number;
  /** The claim of this name, whatever created it. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** The Job that fills the claim, with its pods. */
  readonly filling: Attempted | undefined;
}

/** Everything that one decision about an EtcdRestore may use. Built by observe.ts, then read-only. */
export interface RestoreSnapshot {
  /** Milliseconds since 1970: the only "now" for rules. */
  readonly takenAtMs: number;
  readonly restore: EtcdRestore;
  /** One per ordinal, as many as `spec.clusterTemplate.spec.replicas`. */
  readonly members: readonly RestoredMember[];
  /** Claims with the cluster's label that are not the members', sorted by name. */
  readonly otherClaims: readonly PersistentVolumeClaim[];
  /** The EtcdCluster of the name, whatever created it. */
  readonly cluster: EtcdCluster | undefined;
  /** The EtcdBackup of `spec.source.backupName`; `undefined` when it does not exist or none is named. */
  readonly backup: EtcdBackup | undefined;
  /** The claim that holds the source object, if one does. Read from the API server before the first Job is created. */
  readonly sourceClaim: PersistentVolumeClaim | undefined;
  /** Kubernetes' warnings about a Job or pod that makes no progress, newest first; read only then, else empty. */
  readonly warnings: readonly string[];
  /**
   * The cluster's revision from a linearizable read. `undefined`: not read, because the cluster does not exist yet.
   * Never `absent`.
   */
  readonly read: Observed<bigint> | undefined;
  /** The operator's own image (--agent-image). */
  readonly agentImage: string | undefined;
  /** Repository of etcd's images, without tag (a flag of the operator). */
  readonly imageRepository: string;
}

/** Whether this EtcdRestore, by uid, is the object's controller. */
export function isOwned({ restore }: RestoreSnapshot, object: KubeObject): boolean {
  return controllerOf(object)?.uid === restore.metadata.uid;
}

/**
 * Whether this EtcdRestore, by uid, created the claim. Claims have no owner, so that no garbage collection deletes
 * their data.
 */
export function isOurs({ restore }: RestoreSnapshot, { metadata }: PersistentVolumeClaim): boolean {
  return metadata.labels?.[RESTORED_FROM] === restore.metadata.uid;
}

/** Whether the claim has identity annotations: from then on a cluster may have adopted it. */
export function isIdentified({ metadata }: PersistentVolumeClaim): boolean {
  return metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] !== undefined;
}

/**
 * Whether the claim exists and is not being deleted. No cluster adopts a claim that is being deleted, and no pod starts
 * with it.
 */
export function isStaying(claim: PersistentVolumeClaim | undefined): claim is PersistentVolumeClaim {
  return claim !== undefined && claim.metadata.deletionTimestamp === undefined;
}

/** Whether a cluster can begin with the claim: created and identified by this restore, and not being deleted. */
export function isHandedOver(snapshot: RestoreSnapshot, claim: PersistentVolumeClaim | undefined): boolean {
  return isStaying(claim) && isOurs(snapshot, claim) && isIdentified(claim);
}

/** Claims that this restore created and that have no identity: they may be half filled. */
export function unidentifiedClaims(snapshot: RestoreSnapshot): readonly PersistentVolumeClaim[] {
  return snapshot.members.flatMap(({ claim }) =>
    claim !== undefined && isOurs(snapshot, claim) && !isIdentified(claim) ? [claim] : [],
  );
}

/** Whether the data is complete: at least one claim is identified, which happens only after all are filled. */
export function isComplete(snapshot: RestoreSnapshot): boolean {
  return snapshot.members.some(({ claim }) => claim !== undefined && isOurs(snapshot, claim) && isIdentified(claim));
}

/** Whether the EtcdCluster has taken the claims: from then on they are its own. */
export function isTaken({ restore, cluster }: RestoreSnapshot): boolean {
  return cluster?.status?.identity?.clusterID === restoredIdentity(restore).clusterID;
}

/**
 * Whether the EtcdCluster has taken the claims, or this restore created it from them and it has no identity yet. All
 * claims were filled before.
 */
export function hasBegun(snapshot: RestoreSnapshot): boolean {
  const { cluster, restore } = snapshot;
  const isMade = cluster?.metadata.annotations?.[RESTORED_FROM] === restore.metadata.uid;
  return isTaken(snapshot) || (isMade && cluster.status?.identity === undefined);
}

/**
 * Whether the status records that all claims were filled. A cluster may have used them since, even one that is gone,
 * whatever their annotations are now.
 */
export function wasComplete({ restore }: RestoreSnapshot): boolean {
  return restore.status?.phase === "Completed" || restore.status?.begun === true;
}

/** Completed and Failed are final. */
export function hasEnded({ restore }: Pick<RestoreSnapshot, "restore">): boolean {
  return restore.status?.phase === "Completed" || restore.status?.phase === "Failed";
}

export function isDeleting({ restore }: RestoreSnapshot): boolean {
  return restore.metadata.deletionTimestamp !== undefined;
}

/** Whether the operator's finalizer is set. */
export function isHeld({ restore }: RestoreSnapshot): boolean {
  return restore.metadata.finalizers?.includes(CLAIMS_FINALIZER) === true;
}

/** Whether the restore was given up: it failed, or is being deleted, before a cluster could begin with its claims. */
export function isGivenUp(snapshot: RestoreSnapshot): boolean {
  if (isComplete(snapshot) || hasBegun(snapshot) || wasComplete(snapshot)) return false;
  return snapshot.restore.status?.phase === "Failed" || isDeleting(snapshot);
}

/** Uid of the EtcdCluster that asked for this restore in its own spec: it exists before its data. */
export function askingCluster({ restore }: RestoreSnapshot): string | undefined {
  const owner = controllerOf(restore);
  return owner?.kind === ETCD_CLUSTERS.kind && owner.name === restore.spec.clusterTemplate.clusterName
    ? owner.uid
    : undefined;
}
