import { ETCD_CONTAINER, RESTORED_FROM } from "#api/names.ts";
import { type ClusterSnapshot, isFounder, peerNamed } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { hasRun } from "#kube/pod.ts";
import {
  claimOf,
  health,
  intendedPeers,
  type KnownMember,
  knownMembers,
  mayHoldData,
  participatesInQuorum,
  votersOf,
} from "./members.ts";

/**
 * Members that are joining: learners, and members that were added and have not started. Initial members are not among
 * them.
 */
export function arriving(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return knownMembers(snapshot).filter(
    (member) => member.isLearner || (!member.hasStarted && !isFounder(snapshot.cluster, member.id)),
  );
}

/** The joining members that the operator manages. */
export function ownArriving(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return arriving(snapshot).filter(({ isOurs }) => isOurs);
}

/**
 * The first member that a downgrade would block: etcd lets no member join while one is enabled. A learner that was
 * added by hand and has started has already joined, and may stay a learner.
 */
export function joiningName(snapshot: ClusterSnapshot): string | undefined {
  const joining = arriving(snapshot).find(({ isOurs, hasStarted }) => isOurs || !hasStarted);
  return joining?.name ?? intendedPeers(snapshot)[0]?.metadata.name;
}

/** Whether the member is joining, and its etcd has not started yet. */
export function hasYetToStart(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const isArriving = ownArriving(snapshot).some(({ id }) => id === member.id);
  return isArriving && !member.hasStarted && !participatesInQuorum(snapshot, member);
}

/**
 * The part of the voters' log that a learner must have. etcd itself requires as much (readyPercentThreshold in
 * server/etcdserver/server.go) and would refuse with less.
 */
const IN_SYNC = 0.9;

/**
 * Whether a learner has caught up. One that does not serve clients yet must have passed etcd's health check, so that it
 * has applied every commit. It must also have published its name: a nameless voter would look like one that never
 * started.
 */
export function isInSync(snapshot: ClusterSnapshot, learner: KnownMember): boolean {
  const seen = health(snapshot, learner);
  if (seen.is !== "healthy") return seen.is === "unpublished" && learner.hasStarted;
  // Compared with the answering voters: the leader may be a foreign member, which is not dialled.
  const indexes = answeringVoters(snapshot).map(({ raftIndex }) => raftIndex);
  return indexes.length > 0 && seen.status.raftAppliedIndex >= Math.max(...indexes) * IN_SYNC;
}

/** The status reports of the healthy voters. */
export function answeringVoters(snapshot: ClusterSnapshot): readonly EndpointStatus[] {
  return votersOf(snapshot).flatMap((member) => {
    const seen = health(snapshot, member);
    return seen.is === "healthy" ? [seen.status] : [];
  });
}

/**
 * Whether no etcd ever ran on the member's claim, so that deleting it loses nothing. Either the claim has no volume
 * yet, or the member is a learner and its container has never run.
 */
export function neverRan(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (member.hasStarted || participatesInQuorum(snapshot, member)) return false;
  const claim = claimOf(snapshot, member);
  if (claim === undefined) return false; // The claim may be there, and only the cache does not know it.
  if (!mayHoldData(claim)) return true;
  const pod = snapshot.pods.get(member.name);
  return member.isLearner && pod !== undefined && !hasRun(pod, ETCD_CONTAINER);
}

/**
 * Whether the member never had a vote, so that no acknowledged write depends on it. It is listed as a learner, and etcd
 * never turns a voter into one. Its claim is known, was created empty, and has this member's ID.
 */
export function neverVoted(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const claim = claimOf(snapshot, member);
  if (!member.isLearner || claim === undefined || claim.metadata.labels?.[RESTORED_FROM] !== undefined) return false;
  return claim.spec?.dataSource === undefined && claim.spec?.dataSourceRef === undefined;
}

/**
 * Whether the learner lacks only a pod: its claim has a volume, but no pod exists or may be created. A quota or policy
 * would refuse every other member, too, so a new attempt does not help. If only the name is taken, a member of another
 * name does help.
 */
export function lacksOnlyPod(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const claim = claimOf(snapshot, member);
  if (!member.isLearner || claim === undefined || !mayHoldData(claim) || snapshot.pods.has(member.name)) return false;
  const ready = peerNamed(snapshot, member.name)?.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.reason !== "NameTaken";
}
