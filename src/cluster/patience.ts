import { ETCD_CONTAINER } from "#api/names.ts";
import { type KnownMember, ownVoters, takesPart } from "#cluster/members.ts";
import { type ClusterSnapshot, corruptMembers } from "#cluster/snapshot.ts";
import { isReady, lastWords } from "#kube/pod.ts";

// When is a member given up?
//   On evidence, never on one witness alone, and never for time in which nobody could look. It gives the operator no answer; all the
//   while the others could be asked for the member list; the kubelet does not call it ready, which is a linearizable read that
//   succeeded; and at last the leader is asked whether raft traffic arrives from it.

/** How long this process has found that the member takes no part, look by look, in milliseconds; 0 when it does. */
export function sickForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.sickForMs ?? 0;
}

/** How much of that time counts against the member, in milliseconds: see `lostForMs` of MemberHistory. */
export function lostForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.lostForMs ?? 0;
}

/** How long this process has found that the member does not serve clients, look by look, in milliseconds. */
export function silentForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.silentForMs ?? 0;
}

/** How long this process has found that the member is not fit to be counted on, look by look, in milliseconds: see `whyUnfit`. */
export function unfitForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.unfitForMs ?? 0;
}

/** How much of that time it had what an update brings, whatever pods it was in, in milliseconds. */
export function triedForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.triedForMs ?? 0;
}

/** How long this process has found that the member has no pod, look by look, in milliseconds. */
export function podlessForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.podlessForMs ?? 0;
}

/** How long this process has found that the member lacks nothing but the readiness of its pod, look by look, in milliseconds. */
export function unreadyForMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return snapshot.histories.get(member.id)?.unreadyForMs ?? 0;
}

/**
 * How long to wait when the data is certainly gone or wrong, in milliseconds. Waiting longer brings nothing back; not waiting at
 * all would act on a claim that a person is just about to put back.
 */
const GONE_AFTER_MS = 10_000;

/** How long a voter may be lost before it is given up, in milliseconds. */
function patienceMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  return isDataGone(snapshot, member) ? Math.min(GONE_AFTER_MS, snapshot.replaceAfterMs) : snapshot.replaceAfterMs;
}

/** Whether the cluster's spec says that the member is never given up for being lost. */
export function isKept(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return patienceMs(snapshot, member) === Number.POSITIVE_INFINITY;
}

/** That these members, which do not take part, are not replaced, as a clause to add; empty when they are, sooner or later. */
export function keptText(snapshot: ClusterSnapshot, members: readonly KnownMember[]): string {
  const names = members.filter((member) => !member.isLearner && isKept(snapshot, member)).map(({ name }) => name);
  if (names.length === 0) return "";
  return `; ${names.join(", ")} ${names.length === 1 ? "is" : "are"} not replaced, because spec.replacement.after is Never`;
}

/** Whether somebody else than the operator says that the member is well. If the member itself has answered, that counts instead. */
export function isVouchedFor(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const answer = snapshot.endpoints.get(member.name);
  if (answer?.is === "present" || isDataWrong(snapshot, member)) return false;
  const pod = snapshot.pods.get(member.name);
  return (pod !== undefined && isReady(pod)) || snapshot.heard.has(member.id);
}

/** Voters of ours that are lost for longer than they may be, the longest first. */
export function givenUp(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return (
    ownVoters(snapshot)
      .filter((member) => !takesPart(snapshot, member) && !isVouchedFor(snapshot, member))
      // Of whom no time has been counted, as of one that comes up after a restart, nobody has seen that it is lost.
      .filter(
        (member) => lostForMs(snapshot, member) > 0 && lostForMs(snapshot, member) >= patienceMs(snapshot, member),
      )
      .sort((a, b) => lostForMs(snapshot, b) - lostForMs(snapshot, a))
  );
}

/** Whether the member's data is wrong, or was not there when it started, so that nobody's word that it runs would help. */
export function isDataWrong(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  // While a member's data is wrong, nobody is served: etcd refuses every read and write.
  return corruptMembers(snapshot).includes(member.id) || refusedEmptyVolume(snapshot, member);
}

/** Whether its data is wrong or gone. That a claim is gone is the word of a cache: who runs on it all the same is vouched for. */
function isDataGone(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return isDataWrong(snapshot, member) || hasNoClaim(snapshot, member);
}

/**
 * What etcd says when it is started on an empty data directory: with the fence ("couldn't find local name … in the initial
 * cluster configuration", server/config/config.go), or with the flags of its first start while the others can be asked
 * ("member … has already been bootstrapped", server/etcdserver/bootstrap.go). It only shortens the wait.
 */
const REFUSALS = ["couldn't find local name", "has already been bootstrapped"];

/** Whether the fence has held: the member came back to an empty volume and stopped. */
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

/** Whether it has no data any more with which it could come up. */
export function hasNothing(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return hasNoClaim(snapshot, member) || refusedEmptyVolume(snapshot, member);
}
