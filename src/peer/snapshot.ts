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

/** All that one decision about an EtcdPeer may use. Built by observe.ts, read-only ever after. */
export interface PeerSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  readonly peer: EtcdPeer;
  /** See `pauseOf`. */
  readonly pausedBy: string | undefined;
  /** Whether it sleeps with its cluster, or until the others are awake; of a peer whose EtcdCluster is not there, whether it did. */
  readonly isAsleep: boolean;
  /** The Secrets that members of its EtcdCluster may show; none when that is not there. */
  readonly shownSecrets: readonly string[];
  /** Where etcd's images come from, without tag: a setting of the operator. */
  readonly imageRepository: string;
  readonly claim: PersistentVolumeClaim | undefined;
  readonly replicaSet: ReplicaSet | undefined;
  /** The current pod; `undefined` when there is none. */
  readonly pod: Pod | undefined;
  /** What the member said of itself; `undefined` when there is no pod to ask. */
  readonly endpoint: Observed<EndpointStatus> | undefined;
  /** Asked for only while the member waits for a volume for long; else `undefined`. */
  readonly storageClasses: Observed<readonly StorageClass[]> | undefined;
}

/** A peer as it is before anything of it is there, or has been looked at. */
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

/** By what a person has paused the cluster, as a clause. A pause does not keep one that is being deleted from going. */
export function pauseOf(cluster: EtcdCluster | undefined): string | undefined {
  return cluster === undefined || cluster.metadata.deletionTimestamp !== undefined ? undefined : pausedBy(cluster);
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
 * The scheduler says that a volume is missing, but neither of which claim nor of which class. A claim that waits for the
 * scheduler is not to blame for anything else.
 */
function isClaimToBlame({ claim, pod }: PeerSnapshot): boolean {
  if (pod === undefined || !isUnscheduled(pod)) return false;
  return claim?.status?.phase !== "Bound" && /volume|storageclass/i.test(whyNotRunning(pod, ETCD_CONTAINER) ?? "");
}

/** Whether the member has no volume for so long that the storage classes are worth a question. */
export function waitsForVolume(snapshot: PeerSnapshot): boolean {
  return isClaimToBlame(snapshot) && isInTrouble(snapshot);
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

/** On the class that a claim without one gets (https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass). */
const DEFAULT_CLASS_ANNOTATION = "storageclass.kubernetes.io/is-default-class";
/** A message is read by people: of more classes only so many are named. */
const MAX_CLASSES_NAMED = 10;

/** That the class does not exist which the claim names or needs, and which ones do; `undefined` when that is not what is wrong. */
function missingClass({ storageClasses }: PeerSnapshot, { spec }: PersistentVolumeClaim): string | undefined {
  const wanted = spec?.storageClassName;
  // An empty name asks for no class: the claim waits for a volume that a person makes.
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

/** A claim without a class was made when there was no default one, and gets it when there is one. */
function unboundText({ metadata, spec, status }: PersistentVolumeClaim): string {
  const storage = spec?.storageClassName;
  const ofClass = storage ? `of storage class ${storage}` : "without a storage class";
  return `claim ${metadata.name} ${ofClass} is ${status?.phase ?? "not bound"}`;
}
