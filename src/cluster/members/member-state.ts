import { ETCD_CONTAINER, REMOVAL_ANNOTATION, RESTORED_FROM, REVISION_ANNOTATION, type Removal } from "#api/names.ts";
import { type ClusterSnapshot, corruptMembers, isFounder, type MemberHistory, peerNamed } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";
import { hasRun, isContainerReady, isReady, isStopped, lastWords, runs } from "#kube/pod.ts";
import { claimOf, type ListedMember, mayHoldData } from "./listed-members.ts";
import type { MemberHealth } from "./member-health.ts";

// What is known of one member, computed once per snapshot. What follows for several members, such as the quorum, a
// canary or a leadership target, is computed elsewhere from these values.

/** A listed member with its health. */
type CheckedMember = ListedMember & { readonly health: MemberHealth };

export interface MemberState {
  /** What the member itself answers. */
  readonly health: MemberHealth;
  /** Whether the member is healthy or unpublished. Of voters these make up the quorum. */
  readonly participatesInQuorum: boolean;
  /**
   * Whether the kubelet or the leader reports a silent member alive: its pod is Ready, or raft traffic arrives from it.
   * False when it answers, and when `data.fault` is set.
   */
  readonly isVouchedFor: boolean;
  readonly joining: Joining;
  /** Why the member is to be removed, as recorded on its EtcdPeer; `undefined` when it stays. */
  readonly removal: Removal | undefined;
  readonly container: Container;
  readonly data: MemberData;
  /**
   * What the member lacks before another may restart; messages name the first. Empty when the member is fit. A member
   * that was added by hand is not dialled, so it always lacks health.
   */
  readonly lacks: readonly Lack[];
  readonly template: RunningTemplate;
  readonly history: MemberHistory;
}

/** How far a member has come from MemberAdd to its vote. */
export type Joining =
  /** A voter that has started, or an initial member. */
  | "none"
  /** Added, and neither etcd's list nor its own answer shows that it has started. */
  | "notStarted"
  /** Added and started; it may not have its vote or its client URLs yet. */
  | "started";

/** The state of an etcd container, as the kubelet and the scheduler report it; they may be late. */
export type ContainerState =
  /** No pod exists. */
  | "none"
  /** The kubelet reports the container running. */
  | "running"
  /** Not running yet, for no reported reason, and within its start timeout. */
  | "waiting"
  /** Not running, for no reported reason, and its start timeout is over. Perhaps a volume cannot be mounted. */
  | "overdue"
  /** Ended or unable to start, as reported: a crash, no image, no node. */
  | "stopped";

/** The etcd container in the current pod of a name. */
export interface Container {
  readonly is: ContainerState;
  /** Whether the pod is younger than STARTS_WITHIN_MS: it may be about to run etcd. False without a pod. */
  readonly isNew: boolean;
  /** Whether the pod is younger than `memberTimeoutMs`, its start timeout. False without a pod. */
  readonly isYoung: boolean;
}

/** The claim of a member's name, as Kubernetes reports it. */
export type ClaimState =
  /** No claim has the name. */
  | "none"
  /** The claim has a deletion timestamp: it is deleted, with its data, once the pod ends. */
  | "dying"
  /** The claim exists and stays. */
  | "kept";

/** A fault of a member's data, as etcd reports it. */
export type DataFault =
  | "none"
  /** etcd stopped at its start because its volume is empty. */
  | "emptyVolume"
  /** The alarm CORRUPT is raised for the member: etcd refuses every read and write. */
  | "corrupt";

/**
 * What Kubernetes and etcd report about the member's data. Nothing is known of a member that was added by hand: `claim`
 * is `none` and `isLost` is true. Callers check `isOurs` first.
 */
export interface MemberData {
  readonly claim: ClaimState;
  readonly fault: DataFault;
  /** Whether the member has lost its data, so that it cannot start again: no claim, or an empty volume. */
  readonly isLost: boolean;
  /**
   * Whether no etcd ever ran on the member's claim, so that deleting it loses nothing. Either the claim has no volume
   * yet, or the member is a learner and its container has never run.
   */
  readonly neverRan: boolean;
  /**
   * Whether the member never had a vote, so that no acknowledged write depends on it. It is listed as a learner, and
   * etcd never turns a voter into one. Its claim is known, was created empty, and has this member's ID.
   */
  readonly neverVoted: boolean;
  /**
   * Whether the learner lacks only a pod. Replacing it would not help: what refuses its pod, such as a quota, would
   * refuse the next one's. False when only the name is taken, since another name helps.
   */
  readonly lacksOnlyPod: boolean;
}

/** What a member lacks to be fit, so that another may restart. */
export type Lack =
  /** The member does not serve clients. Then nothing else is checked. */
  | "health"
  /** No pod exists, or it is terminating. */
  | "pod"
  /**
   * The kubelet reports the etcd container not ready: its probe, a linearizable read, fails. The member may not
   * acknowledge writes, so no other one can be spared.
   */
  | "etcdReadiness"
  /** The kubelet reports the etcd container ready, and the pod not Ready: a sidecar fails its probe. */
  | "sidecarReadiness"
  /** The member has applied too few raft entries, compared with the voters that answer. */
  | "raftLog"
  /** The pod has no recorded template revision. */
  | "revision";

/** The template of the member's pod. */
export interface RunningTemplate {
  /** The revision that the pod was made from; `undefined` without a pod or a record. */
  readonly revision: string | undefined;
  /** Whether it is the template of the update in the cluster's status. */
  readonly isOfUpdate: boolean;
  /**
   * Whether the member has the start timeout of the canary, however short `spec.replacement.after` is. Its pod is of the
   * update and young, and its data is not lost. Also true when it is up already.
   */
  readonly hasStartTimeout: boolean;
}

/** The history of a member that this process has not observed. */
const NO_HISTORY: MemberHistory = {
  knownForMs: 0,
  sickForMs: 0,
  wellMsAgo: undefined,
  lostForMs: 0,
  silentForMs: 0,
  unfitForMs: 0,
  triedForMs: 0,
  podlessForMs: 0,
  unreadyForMs: 0,
  earlierTriesMs: 0,
};

/** @param furthestIndex the highest raft index of the managed voters that are healthy */
export function stateOf(snapshot: ClusterSnapshot, member: CheckedMember, furthestIndex: number): MemberState {
  const { health, isLearner, hasStarted, id, name } = member;
  const pod = snapshot.pods.get(name);
  const participatesInQuorum = health.is === "healthy" || health.is === "unpublished";
  const data = dataOf(snapshot, member, participatesInQuorum);
  const container = containerOf(snapshot, name);
  const isJoining = isLearner || (!hasStarted && !isFounder(snapshot.cluster, id));
  const revision = runningRevision(pod);
  const isOfUpdate = revision !== undefined && revision === snapshot.cluster.status?.update?.revision;
  return {
    health,
    participatesInQuorum,
    isVouchedFor: isVouchedFor(snapshot, member, data),
    joining: isJoining ? (hasStarted || participatesInQuorum ? "started" : "notStarted") : "none",
    removal: peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION] as Removal | undefined,
    container,
    data,
    lacks: lacksOf(health, pod, furthestIndex),
    template: { revision, isOfUpdate, hasStartTimeout: isOfUpdate && container.isYoung && !data.isLost },
    history: historyOf(snapshot, id),
  };
}

/** The history of the member, also of one that etcd does not list. @param id in hexadecimal */
export function historyOf(snapshot: ClusterSnapshot, id: string): MemberHistory {
  return snapshot.histories.get(id) ?? NO_HISTORY;
}

/** The member's own answer takes precedence over reports of others. */
function isVouchedFor(snapshot: ClusterSnapshot, { name, id }: ListedMember, { fault }: MemberData): boolean {
  if (snapshot.endpoints.get(name)?.is === "present" || fault !== "none") return false;
  const pod = snapshot.pods.get(name);
  return (pod !== undefined && isReady(pod)) || snapshot.heard.has(id);
}

/**
 * At this age a pod in which etcd does not run is stuck, in milliseconds; most start within ten seconds. Smaller: a
 * starting pod is recreated when the template changes. Larger: a correction takes effect later.
 */
const STARTS_WITHIN_MS = 30_000;

/** The etcd container in the current pod of this name, which etcd may not list as a member. */
export function containerOf({ pods, takenAtMs, memberTimeoutMs }: ClusterSnapshot, name: string): Container {
  const pod = pods.get(name);
  if (pod === undefined) return { is: "none", isNew: false, isYoung: false };
  // NaN without a creation time: then the pod counts as new, so that nothing is done to it.
  // The absolute value guards against a clock far behind, which would keep every pod new forever.
  const ageMs = Math.abs(takenAtMs - Date.parse(pod.metadata.creationTimestamp ?? ""));
  const isYoung = ageMs < memberTimeoutMs;
  const idle = isStopped(pod, ETCD_CONTAINER) ? "stopped" : isYoung ? "waiting" : "overdue";
  return { is: runs(pod, ETCD_CONTAINER) ? "running" : idle, isNew: !(ageMs >= STARTS_WITHIN_MS), isYoung };
}

/**
 * The errors of etcd on an empty data directory: with the fence (server/config/config.go), or with the flags of its
 * first start (server/etcdserver/bootstrap.go). They only shorten the wait.
 */
const REFUSALS = ["couldn't find local name", "has already been bootstrapped"];

function dataOf(snapshot: ClusterSnapshot, member: CheckedMember, participates: boolean): MemberData {
  const { name, isLearner, hasStarted } = member;
  const pod = snapshot.pods.get(name);
  const claim = snapshot.claims.find(({ metadata }) => metadata.name === name);
  const words = pod === undefined ? [] : lastWords(pod, ETCD_CONTAINER);
  const isEmpty = words.some((each) => REFUSALS.some((refusal) => each.includes(refusal)));
  const isCorrupt = corruptMembers(snapshot).includes(member.id);
  // Undefined also when only the cache does not have it: then nothing is known of its content.
  const own = claimOf(snapshot, member);
  const hasVolume = own !== undefined && mayHoldData(own);
  const isContainerUnused = isLearner && pod !== undefined && !hasRun(pod, ETCD_CONTAINER);
  const isFilled = own?.spec?.dataSource !== undefined || own?.spec?.dataSourceRef !== undefined;
  const ready = peerNamed(snapshot, name)?.status?.conditions?.find(({ type }) => type === "Ready");
  return {
    claim: claim === undefined ? "none" : claim.metadata.deletionTimestamp === undefined ? "kept" : "dying",
    fault: isEmpty ? "emptyVolume" : isCorrupt ? "corrupt" : "none",
    isLost: claim === undefined || isEmpty,
    neverRan: own !== undefined && !hasStarted && !participates && (!hasVolume || isContainerUnused),
    neverVoted: isLearner && own !== undefined && own.metadata.labels?.[RESTORED_FROM] === undefined && !isFilled,
    lacksOnlyPod: isLearner && hasVolume && pod === undefined && ready?.reason !== "NameTaken",
  };
}

/** How many raft entries a member may lag behind and still count as caught up: members apply thousands per second. */
const MAX_LAG = 1_000;

function lacksOf(health: MemberHealth, pod: Pod | undefined, furthestIndex: number): readonly Lack[] {
  if (health.is !== "healthy") return ["health"];
  const isBehind = furthestIndex - health.status.raftAppliedIndex > MAX_LAG;
  return [
    ...lackOfPod(pod),
    ...(isBehind ? (["raftLog"] as const) : []),
    ...(runningRevision(pod) === undefined ? (["revision"] as const) : []),
  ];
}

function lackOfPod(pod: Pod | undefined): readonly Lack[] {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return ["pod"];
  if (isReady(pod)) return [];
  return [isContainerReady(pod, ETCD_CONTAINER) ? "sidecarReadiness" : "etcdReadiness"];
}

/** The revision of the template that the pod was made from; `undefined` when another client has removed it. */
export function runningRevision(pod: Pod | undefined): string | undefined {
  return pod?.metadata.annotations?.[REVISION_ANNOTATION];
}
