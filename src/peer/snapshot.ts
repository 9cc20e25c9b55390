import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import type { Observed } from "#base/observed.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { controllerOf, type KubeObject, type PersistentVolumeClaim, type Pod, type ReplicaSet } from "#kube/kinds.ts";
import { isReady, isUnscheduled, needsHelp, whyNotRunning } from "#kube/pod.ts";

/** All that one decision about an EtcdPeer may use. Built by observe.ts, read-only ever after. */
export interface PeerSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  readonly peer: EtcdPeer;
  /** Whether a person has paused the cluster. */
  readonly isPaused: boolean;
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
  const { clusterID, memberID } = snapshot.peer.spec;
  const annotations = claim.metadata.annotations ?? {};
  return (
    clusterID !== undefined &&
    annotations[CLAIM_CLUSTER_ID_ANNOTATION] === clusterID &&
    annotations[CLAIM_MEMBER_ID_ANNOTATION] === memberID
  );
}

/** A member that has joined may only restart with the data that it has. */
export function hasJoined(snapshot: PeerSnapshot): boolean {
  return snapshot.peer.spec.bootstrap === undefined;
}

/**
 * A pod that is not there yet, has no node or cannot get its image is no news while it is young: volumes and images take
 * their time. Ten seconds is a guess; too small and every start is told as trouble, too large and people wait for a word.
 */
const TROUBLE_AFTER_MS = 10_000;

/** Why the member's pod does not serve, in one sentence for people; `undefined` when it does. */
export function whyNotReady({ claim, replicaSet, pod }: PeerSnapshot): string | undefined {
  if (pod === undefined) return refusal(replicaSet) ?? "its pod is not created yet";
  if (isReady(pod)) return undefined;
  const why = whyNotRunning(pod) ?? "its pod runs but is not ready yet";
  // The scheduler says that a volume is missing, but neither of which claim nor of which class. A claim that waits for the
  // scheduler is not to blame for anything else.
  const isToBlame = isUnscheduled(pod) && claim?.status?.phase !== "Bound" && /volume|storageclass/i.test(why);
  return isToBlame && claim !== undefined ? `${unboundText(claim)}; ${why}` : why;
}

/** Whether that is worth a warning: it has lasted, and it is nothing that passes as a rule. */
export function isInTrouble({ takenAtMs, replicaSet, pod }: PeerSnapshot): boolean {
  const since = (pod ?? replicaSet)?.metadata.creationTimestamp;
  if (since === undefined || takenAtMs - Date.parse(since) < TROUBLE_AFTER_MS) return false;
  return pod === undefined ? refusal(replicaSet) !== undefined : needsHelp(pod);
}

/** What the API server said when the ReplicaSet asked for a pod, such as a quota or an admission policy. */
function refusal(replicaSet: ReplicaSet | undefined): string | undefined {
  const failure = replicaSet?.status?.conditions?.find(
    ({ type, status }) => type === "ReplicaFailure" && status === "True",
  );
  return failure === undefined
    ? undefined
    : `its pod cannot be created: ${failure.message ?? failure.reason ?? "no reason given"}`;
}

/** A claim gets the default class when it is made; one without a class was made when there was no default. */
function unboundText({ metadata, spec, status }: PersistentVolumeClaim): string {
  const storage = spec?.storageClassName;
  const ofClass = storage === undefined ? "without a storage class" : `of storage class ${storage}`;
  return `claim ${metadata.name} ${ofClass} is ${status?.phase ?? "not bound"}`;
}
