import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { intendedPeers, type KnownMember, knownMembers, votersOf } from "./members.ts";

/** Members that are joining. */
export function joiningMembers(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return knownMembers(snapshot).filter(({ joining }) => joining !== "none");
}

/** The joining members that the operator manages. */
export function ownJoining(snapshot: ClusterSnapshot): readonly KnownMember[] {
  return joiningMembers(snapshot).filter(({ isOurs }) => isOurs);
}

/**
 * The first member that a downgrade would block: etcd lets no member join while one is enabled. A learner that was
 * added by hand and has started has already joined, and may stay a learner.
 */
export function joiningName(snapshot: ClusterSnapshot): string | undefined {
  const joining = joiningMembers(snapshot).find(({ isOurs, hasStarted }) => isOurs || !hasStarted);
  return joining?.name ?? intendedPeers(snapshot)[0]?.metadata.name;
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
  const { health } = learner;
  if (health.is !== "healthy") return health.is === "unpublished" && learner.hasStarted;
  // Compared with the answering voters: the leader may be a foreign member, which is not dialled.
  const indexes = answeringVoters(snapshot).map(({ raftIndex }) => raftIndex);
  return indexes.length > 0 && health.status.raftAppliedIndex >= Math.max(...indexes) * IN_SYNC;
}

/** The status reports of the healthy voters. */
export function answeringVoters(snapshot: ClusterSnapshot): readonly EndpointStatus[] {
  return votersOf(snapshot).flatMap(({ health }) => (health.is === "healthy" ? [health.status] : []));
}
