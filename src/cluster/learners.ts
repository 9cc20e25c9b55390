import { ETCD_CONTAINER } from "#api/names.ts";
import { claimOf, health, type KnownMember, knownMembers, mayHoldData, takesPart, votersOf } from "#cluster/members.ts";
import { type ClusterSnapshot, isFounder, peerNamed } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { hasRun } from "#kube/pod.ts";

/**
 * Learners, and members that were added and have not started: each of them is a change that is under way. A first member that has
 * not started is no such change, since it was there from the beginning.
 */
export function arriving(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return knownMembers(snapshot).filter(
    (member) => member.isLearner || (!member.hasStarted && !isFounder(snapshot.cluster, member.id)),
  );
}

/** Those of them that the operator looks after. */
export function ownArriving(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return arriving(snapshot).filter(({ isOurs }) => isOurs);
}

/** How much of the voters' log a learner must have: etcd's own measure, so that it does not have to refuse (readyPercentThreshold in server/etcdserver/server.go). */
const IN_SYNC = 0.9;

/**
 * Whether a learner has caught up. One that does not serve clients yet has passed etcd's health check: it has applied all that was
 * committed. It must have told its name besides: a voter without a name would be taken for one that has yet to start.
 */
export function isInSync(snapshot: ClusterSnapshot, learner: KnownMember): boolean {
  const seen = health(snapshot, learner);
  if (seen.is !== "healthy") return seen.is === "unpublished" && learner.hasStarted;
  // By the voters that answer: somebody else's may lead, whom nobody here can ask.
  const indexes = answeringVoters(snapshot).map(({ raftIndex }) => raftIndex);
  return indexes.length > 0 && seen.status.raftAppliedIndex >= Math.max(...indexes) * IN_SYNC;
}

/** What the healthy voters say of themselves. */
export function answeringVoters(snapshot: ClusterSnapshot): readonly EndpointStatus[] {
  return votersOf(snapshot).flatMap((member) => {
    const seen = health(snapshot, member);
    return seen.is === "healthy" ? [seen.status] : [];
  });
}

/**
 * Whether no etcd ever ran on the member's claim, so that nothing is lost with it: the claim has no volume yet. Or it has one, and
 * the member is a learner, whose data nobody waits for, and whose container has never run.
 */
export function neverRan(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (member.hasStarted || takesPart(snapshot, member)) return false;
  const claim = claimOf(snapshot, member);
  if (claim === undefined) return false; // The claim may be there, and only the cache does not know it.
  if (!mayHoldData(claim)) return true;
  const pod = snapshot.pods.get(member.name);
  return member.isLearner && pod !== undefined && !hasRun(pod, ETCD_CONTAINER);
}

/**
 * Whether all that the learner lacks is a pod: its claim has a volume, and no pod is there, because none may be made, or the one that was
 * has gone. What a quota or a policy refuses to this member it refuses to every other, so another try is no luckier, and it leaves a
 * claim of which nobody knows whether a pod ever used it. Where only the name is taken another member, of another name, does help.
 */
export function lacksOnlyPod(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const claim = claimOf(snapshot, member);
  if (!member.isLearner || claim === undefined || !mayHoldData(claim) || snapshot.pods.has(member.name)) return false;
  const ready = peerNamed(snapshot, member.name)?.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.reason !== "NameTaken";
}
