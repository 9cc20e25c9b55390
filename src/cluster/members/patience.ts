import { ETCD_CONTAINER } from "#api/names.ts";
import { type ClusterSnapshot, corruptMembers } from "#cluster/snapshot.ts";
import { isReady, lastWords } from "#kube/pod.ts";
import { type KnownMember, ownVoters, participatesInQuorum } from "./members.ts";

// When a member is replaced: only with several signs, and never for time without observations.
// - It does not answer the operator, while the others could be asked for the member list.
// - Its pod is not Ready, so no linearizable read succeeded.
// - At last, the leader is asked whether raft traffic arrives from it.

/**
 * How long this process has observed that the member does not participate in the quorum, in milliseconds; 0 when it
 * does.
 */
export function sickForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.sickForMs ?? 0;
}

/** How much of `sickForMs` counts towards replacing the member, in milliseconds: see `lostForMs` of MemberHistory. */
export function lostForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.lostForMs ?? 0;
}

/** How long this process has observed that the member does not serve clients, in milliseconds. */
export function silentForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.silentForMs ?? 0;
}

/** How long this process has observed that the member is unfit, in milliseconds: see `restartBlocker`. */
export function unfitForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.unfitForMs ?? 0;
}

/** How much of `unfitForMs` the member had the template of the update, across pods, in milliseconds. */
export function triedForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.triedForMs ?? 0;
}

/** How long this process has observed that the member has no pod, in milliseconds. */
export function podlessForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.podlessForMs ?? 0;
}

/** How long this process has observed that the member lacks only the readiness of a sidecar, in milliseconds. */
export function unreadyForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.unreadyForMs ?? 0;
}

/**
 * How long to wait when the data is certainly lost or wrong, in milliseconds. Waiting longer does not bring it back.
 * Not waiting would act on a claim that a person is just replacing.
 */
const GONE_AFTER_MS = 10_000;

/** How long a voter may be lost before it is given up, in milliseconds. */
function patienceMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return isDataGone(snapshot, member) ? Math.min(GONE_AFTER_MS, snapshot.replaceAfterMs) : snapshot.replaceAfterMs;
}

/** Whether the spec forbids to replace the member. */
export function isNeverReplaced(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return patienceMs(snapshot, member) === Number.POSITIVE_INFINITY;
}

/** A clause that names members that are never replaced; "" when all are, sooner or later. */
export function neverReplacedText(snapshot: ClusterSnapshot, members: readonly KnownMember[]): string {
  const names = members
    .filter((member) => !member.isLearner && isNeverReplaced(snapshot, member))
    .map(({ name }) => name);
  if (names.length === 0) return "";
  return `; ${names.join(", ")} ${names.length === 1 ? "is" : "are"} not replaced, because spec.replacement.policy is Never`;
}

/**
 * Whether the kubelet or another member reports this member healthy, although it does not answer the operator. The
 * member's own answer takes precedence.
 */
export function hasIndirectSignOfLife(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const answer = snapshot.endpoints.get(member.name);
  if (answer?.is === "present" || isDataWrong(snapshot, member)) return false;
  const pod = snapshot.pods.get(member.name);
  return (pod !== undefined && isReady(pod)) || snapshot.heard.has(member.id);
}

/** Managed voters that have been lost for longer than `spec.replacement.after`, the longest first. */
export function votersToReplace(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return (
    ownVoters(snapshot)
      .filter((member) => !participatesInQuorum(snapshot, member) && !hasIndirectSignOfLife(snapshot, member))
      // A member without counted time, such as one that is starting, was never observed to be lost.
      .filter(
        (member) => lostForMs(snapshot, member) > 0 && lostForMs(snapshot, member) >= patienceMs(snapshot, member),
      )
      .sort((a, b) => lostForMs(snapshot, b) - lostForMs(snapshot, a))
  );
}

/** Whether the member's data is wrong, or was missing at its start: then no report that it is healthy counts. */
export function isDataWrong(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  // The alarm CORRUPT makes etcd refuse every read and write.
  return corruptMembers(snapshot).includes(member.id) || refusedEmptyVolume(snapshot, member);
}

/**
 * Whether the data is wrong or gone. The cache may wrongly miss a claim: a member that still runs on it shows a sign of
 * life.
 */
function isDataGone(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return isDataWrong(snapshot, member) || hasNoClaim(snapshot, member);
}

/**
 * The errors of etcd on an empty data directory: with the fence (server/config/config.go), or with the flags of its
 * first start (server/etcdserver/bootstrap.go). They only shorten the wait.
 */
const REFUSALS = ["couldn't find local name", "has already been bootstrapped"];

/** Whether the fence stopped the member on an empty volume. */
export function refusedEmptyVolume(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const pod = snapshot.pods.get(member.name);
  return (
    pod !== undefined &&
    lastWords(pod, ETCD_CONTAINER).some((words) => REFUSALS.some((refusal) => words.includes(refusal)))
  );
}

export function hasNoClaim(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return !snapshot.claims.some(({ metadata }) => metadata.name === member.name);
}

/** Whether the member has lost its data, so that it cannot start again. */
export function hasLostData(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return hasNoClaim(snapshot, member) || refusedEmptyVolume(snapshot, member);
}
