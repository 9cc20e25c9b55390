import { OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import { enabledDowngrade } from "#cluster/downgrade.ts";
import { isHealthy, type KnownMember, leaderOf, votersOf } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { clusterIdFromHex } from "#etcd/types.ts";

// Which member is asked for something that concerns the whole cluster?

/** A change of membership goes through raft twice and may have to wait for an election. */
const MEMBERSHIP_DEADLINE_MS = 5_000;

/** A transfer of the leadership must be asked of the leader itself. */
export function leader(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const endpoint = answering(snapshot, leaderOf(snapshot), identities);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "the leader does not answer at this moment");
  return endpoint;
}

/** Only who says that a downgrade is enabled is asked to cancel it: etcd 3.5 does it, and never answers. */
export function teller(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const endpoint = answering(snapshot, enabledDowngrade(snapshot)?.by, identities);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "nobody says any more that a downgrade is enabled");
  return endpoint;
}

/** As `anybody`. @throws OperatorError EtcdNotNow when nobody answers */
export function follower(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const endpoint = anybody(snapshot, identities);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "no voter with a leader answers at this moment");
  return endpoint;
}

/**
 * Changes of membership are asked of the leader, which need not ask another one; of any other member when the leader cannot be
 * reached from here: members pass them on. `undefined` when no voter with a leader answers.
 */
export function anybody(snapshot: ClusterSnapshot, identities: Identities): Endpoint | undefined {
  const voters = votersOf(snapshot).filter((member) => isHealthy(snapshot, member));
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

/** With these options nothing is changed in another cluster than the recorded one. */
export function ofThisCluster(snapshot: ClusterSnapshot, signal: AbortSignal): CallOptions {
  const recorded = identityOf(snapshot)?.clusterID;
  invariant(recorded !== undefined, "etcd is asked for changes of a cluster that has an identity");
  return { signal, deadlineMs: MEMBERSHIP_DEADLINE_MS, expectedClusterId: clusterIdFromHex(recorded) };
}
