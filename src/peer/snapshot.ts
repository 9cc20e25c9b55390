import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION, ETCD_CONTAINER } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { Observed } from "#base/observed.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import {
  controllerOf,
  type KubeObject,
  type PersistentVolumeClaim,
  type Pod,
  type ReplicaSet,
  type StorageClass,
} from "#kube/kinds.ts";
import { isReady, isUnscheduled, needsHelp, whyNotRunning } from "#kube/pod.ts";

/**
 * Everything that the rules and guards may use for one decision about an EtcdPeer. Built by observe.ts, then read-only.
 */
export interface PeerSnapshot {
  /** Time of the snapshot in milliseconds since 1970; rules and guards use no other clock. */
  readonly takenAtMs: number;
  readonly peer: EtcdPeer;
  /** See `pauseOf`. */
  readonly pausedBy: string | undefined;
  /**
   * Whether the member is to be stopped with its sleeping cluster, or until the other members run. Without an
   * EtcdCluster: whether it is stopped now.
   */
  readonly isAsleep: boolean;
  /** The Secrets that pods of the EtcdCluster may mount; empty without an EtcdCluster. */
  readonly shownSecrets: readonly string[];
  /** Repository of etcd's images without a tag, from the operator's flags. */
  readonly imageRepository: string;
  readonly claim: PersistentVolumeClaim | undefined;
  readonly replicaSet: ReplicaSet | undefined;
  readonly pod: Pod | undefined;
  /** The member's response to a status request; `undefined` when no pod is ready. */
  readonly endpoint: Observed<EndpointStatus> | undefined;
  /** Read only while the member has waited long for a volume; otherwise `undefined`. */
  readonly storageClasses: Observed<readonly StorageClass[]> | undefined;
}

/** The snapshot of a peer of which no object exists or was read. */
export function unseenPeer(known: Pick<PeerSnapshot, "takenAtMs" | "peer" | "imageRepository">): PeerSnapshot {
  return {
    pausedBy: undefined,
    isAsleep: false,
    shownSecrets: [],
    claim: undefined,
    replicaSet: undefined,
    pod: undefined,
    endpoint: undefined,
    storageClasses: undefined,
    ...known,
  };
}

/**
 * What pauses the cluster, as a clause; `undefined` when it is not paused. A pause does not hold up the deletion of a
 * cluster.
 */
export function pauseOf(cluster: EtcdCluster | undefined): string | undefined {
  return cluster === undefined || cluster.metadata.deletionTimestamp !== undefined ? undefined : pausedBy(cluster);
}

/** Capacity of the member's volume as a Kubernetes quantity; undefined until the claim is bound. */
export function capacityOf({ claim }: Pick<PeerSnapshot, "claim">): string | undefined {
  const storage = claim?.status?.capacity?.storage;
  return storage === undefined ? undefined : String(storage);
}

/** Whether the peer is the object's controller, compared by uid: an earlier peer may have had the same name. */
export function isOwned(snapshot: PeerSnapshot, object: KubeObject): boolean {
  return controllerOf(object)?.uid === snapshot.peer.metadata.uid;
}

/** Whether the claim is annotated with the cluster ID and member ID of this peer. */
export function isOwnClaim(snapshot: PeerSnapshot, claim: PersistentVolumeClaim): boolean {
  const { clusterID, memberID } = snapshot.peer.spec;
  const annotations = claim.metadata.annotations ?? {};
  return (
    clusterID !== undefined &&
    annotations[CLAIM_CLUSTER_ID_ANNOTATION] === clusterID &&
    annotations[CLAIM_MEMBER_ID_ANNOTATION] === memberID
  );
}

/** Whether the member has joined the cluster. From then on it may start only with its existing data. */
export function hasJoined(snapshot: PeerSnapshot): boolean {
  return snapshot.peer.spec.bootstrap === undefined;
}

/**
 * Age in milliseconds from which a pod that is missing, unscheduled or without its image is reported as a problem. Ten
 * seconds is an estimate: shorter, and every normal start raises a warning; longer, and users wait for it.
 */
const TROUBLE_AFTER_MS = 10_000;

/** Why the member's pod is not ready, as a sentence for users; `undefined` when it is ready. */
export function whyNotReady(snapshot: PeerSnapshot): string | undefined {
  const { claim, replicaSet, pod } = snapshot;
  if (pod === undefined) return refusal(replicaSet) ?? "its pod is not created yet";
  if (isReady(pod)) return undefined;
  const why = whyNotRunning(pod, ETCD_CONTAINER) ?? "its pod runs but is not ready yet";
  if (claim === undefined || !isClaimToBlame(snapshot)) return why;
  const noClass = missingClass(snapshot, claim);
  return noClass === undefined
    ? `${unboundText(claim)}; ${why}`
    : `claim ${claim.metadata.name} is Pending: ${noClass}`;
}

/**
 * Whether the pod is unschedulable because of its claim. The scheduler's message names neither the claim nor its class.
 * A claim with WaitForFirstConsumer is Pending too, so the message must be about volumes.
 */
function isClaimToBlame({ claim, pod }: PeerSnapshot): boolean {
  if (pod === undefined || !isUnscheduled(pod)) return false;
  return claim?.status?.phase !== "Bound" && /volume|storageclass/i.test(whyNotRunning(pod, ETCD_CONTAINER) ?? "");
}

/** Whether the member has waited for a volume for so long that the storage classes are read. */
export function waitsForVolume(snapshot: PeerSnapshot): boolean {
  return isClaimToBlame(snapshot) && isInTrouble(snapshot);
}

/** Whether the pod's problem deserves a warning: it has lasted, and it does not normally resolve by itself. */
export function isInTrouble({ takenAtMs, replicaSet, pod }: PeerSnapshot): boolean {
  const since = (pod ?? replicaSet)?.metadata.creationTimestamp;
  if (since === undefined || takenAtMs - Date.parse(since) < TROUBLE_AFTER_MS) return false;
  return pod === undefined ? refusal(replicaSet) !== undefined : needsHelp(pod);
}

/** The API server's refusal to create the ReplicaSet's pod, for example by a quota or an admission policy. */
function refusal(replicaSet: ReplicaSet | undefined): string | undefined {
  const failure = replicaSet?.status?.conditions?.find(
    ({ type, status }) => type === "ReplicaFailure" && status === "True",
  );
  return failure === undefined
    ? undefined
    : `its pod cannot be created: ${failure.message ?? failure.reason ?? "no reason given"}`;
}

/**
 * Annotation of the default StorageClass
 * (https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass).
 */
const DEFAULT_CLASS_ANNOTATION = "storageclass.kubernetes.io/is-default-class";
/** Limit of storage classes that a message lists; more would make it unreadable. */
const MAX_CLASSES_NAMED = 10;

/**
 * A clause that the claim's StorageClass, or a default one, does not exist, with the existing classes. `undefined` when
 * the class exists.
 */
function missingClass({ storageClasses }: PeerSnapshot, { spec }: PersistentVolumeClaim): string | undefined {
  const wanted = spec?.storageClassName;
  // An empty storageClassName disables provisioning: the claim waits for a volume that a user creates.
  if (storageClasses?.is !== "present" || wanted === "") return undefined;
  const classes = storageClasses.value.map(({ metadata }) => metadata);
  const isThere = classes.some(({ name, annotations }) =>
    wanted === undefined ? annotations?.[DEFAULT_CLASS_ANNOTATION] === "true" : name === wanted,
  );
  if (isThere) return undefined;
  const names = classes.map(({ name }) => name).sort();
  const more = names.length > MAX_CLASSES_NAMED ? ` and ${names.length - MAX_CLASSES_NAMED} more` : "";
  const there =
    names.length === 0 ? "there is none" : `there are: ${names.slice(0, MAX_CLASSES_NAMED).join(", ")}${more}`;
  const what = wanted === undefined ? "there is no default storage class" : `storage class ${wanted} does not exist`;
  return `${what}; ${there}`;
}

/**
 * Describes an unbound claim. A claim without a class was created when no default class existed, and gets one as soon
 * as there is one.
 */
function unboundText({ metadata, spec, status }: PersistentVolumeClaim): string {
  const storage = spec?.storageClassName;
  const ofClass = storage ? `of storage class ${storage}` : "without a storage class";
  return `claim ${metadata.name} ${ofClass} is ${status?.phase ?? "not bound"}`;
}
