import { OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import { type KnownMember, leaderOf, votersOf } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import { enabledDowngrade } from "#cluster/update/downgrade.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { clusterIdFromHex } from "#etcd/types.ts";

// Which member receives a request that concerns the whole cluster?

/**
 * Deadline of a change of membership, in milliseconds: it needs two raft rounds and possibly an election. Shorter: it
 * would fail during elections. Longer: a pass would wait for a member that hangs.
 */
const MEMBERSHIP_DEADLINE_MS = 5_000;

/** Only the leader can transfer the leadership. */
export function leader(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const endpoint = answering(snapshot, leaderOf(snapshot), identities);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "the leader does not answer at this moment");
  return endpoint;
}

/** A member that reports the downgrade as enabled: etcd 3.5 would cancel it too, but never answers. */
export function downgradeReporter(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const endpoint = answering(snapshot, enabledDowngrade(snapshot)?.by, identities);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "no member reports an enabled downgrade any more");
  return endpoint;
}

/** The voter that `anyVoter` chooses. @throws OperatorError EtcdNotNow when no member answers */
export function answeringVoter(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const endpoint = anyVoter(snapshot, identities);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "no voter with a leader answers at this moment");
  return endpoint;
}

/**
 * The leader, or any other voter when the leader cannot be reached from here: voters forward changes of membership.
 * `undefined` when no voter with a leader answers.
 */
export function anyVoter(snapshot: ClusterSnapshot, identities: Identities): Endpoint | undefined {
  const voters = votersOf(snapshot).filter((member) => member.health.is === "healthy");
  return [leaderOf(snapshot), ...voters].flatMap((member) => answering(snapshot, member, identities) ?? [])[0];
}

function answering(
  snapshot: ClusterSnapshot,
  member: KnownMember | undefined,
  identities: Identities,
): Endpoint | undefined {
  if (member === undefined || snapshot.endpoints.get(member.name)?.is !== "present") return undefined;
  const pod = snapshot.pods.get(member.name);
  const endpoint = pod && endpointOf(pod, identities);
  return endpoint?.is === "present" ? endpoint.value : undefined;
}

/** Options that restrict a change to the recorded cluster ID. */
export function ofThisCluster(snapshot: ClusterSnapshot, signal: AbortSignal): CallOptions {
  const recorded = identityOf(snapshot)?.clusterID;
  invariant(recorded !== undefined, "etcd is asked for changes of a cluster that has an identity");
  return { signal, deadlineMs: MEMBERSHIP_DEADLINE_MS, expectedClusterId: clusterIdFromHex(recorded) };
}
