import { CLAIM_CLUSTER_ID_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import type { Observed } from "#base/observed.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { controllerOf, type KubeObject, type PersistentVolumeClaim, type Pod, type ReplicaSet } from "#kube/kinds.ts";

/** All that one decision about an EtcdPeer may use. Built by observe.ts, read-only ever after. */
export interface PeerSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  readonly peer: EtcdPeer;
  /** Where etcd's images come from, without tag: a setting of the operator. */
  readonly imageRepository: string;
  readonly claim: PersistentVolumeClaim | undefined;
  readonly replicaSet: ReplicaSet | undefined;
  /** The current pod; `undefined` when there is none. */
  readonly pod: Pod | undefined;
  /** What the member said of itself; `undefined` when there is no pod to ask. */
  readonly endpoint: Observed<EndpointStatus> | undefined;
}

/** Whether this very peer, not an earlier one of the same name, manages the object. */
export function isOwned(snapshot: PeerSnapshot, object: KubeObject): boolean {
  return controllerOf(object)?.uid === snapshot.peer.metadata.uid;
}

/** Whether the claim is this member's: its data, if any, is of the cluster that the member belongs to. */
export function isOwnClaim(snapshot: PeerSnapshot, claim: PersistentVolumeClaim): boolean {
  const clusterID = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
  return clusterID !== undefined && clusterID === snapshot.peer.spec.clusterID;
}

/** A member that has joined may only restart with the data that it has. */
export function hasJoined(snapshot: PeerSnapshot): boolean {
  return snapshot.peer.spec.bootstrap === undefined;
}
