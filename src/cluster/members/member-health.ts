import { type ClusterSnapshot, corruptMembers, identityOf, isFounder } from "#cluster/snapshot.ts";
import { whyNotMeant } from "#etcd/not-meant.ts";
import { type EndpointStatus, hexOf, type MemberId } from "#etcd/types.ts";

/** The health of a member, derived from its answer. */
export type MemberHealth =
  | { readonly is: "healthy"; readonly status: EndpointStatus }
  /** The member participates in the quorum and does not serve clients yet. */
  | { readonly is: "unpublished"; readonly why: string }
  | { readonly is: "unhealthy"; readonly why: string; readonly status: EndpointStatus | undefined }
  /** The answer comes from another cluster or another member, and is never used. */
  | { readonly is: "stranger"; readonly why: string };

/**
 * The health of a member. A healthy one answers with the expected IDs and follows a leader.
 * @param id the member's recorded ID in hexadecimal
 */
export function healthOf(snapshot: ClusterSnapshot, peer: string, id: string): MemberHealth {
  const clusterID = identityOf(snapshot)?.clusterID;
  const answer = snapshot.endpoints.get(peer);
  if (answer === undefined) return { is: "unhealthy", why: "it has no running pod", status: undefined };
  if (answer.is === "absent") return { is: "unhealthy", why: "it gave no answer", status: undefined };
  if (answer.is === "unknown") return unanswered(snapshot, snapshot.unpublished.get(peer), id, answer.why);
  const status = answer.value;
  const stranger = whyNotMeant(status, clusterID, id);
  if (stranger !== undefined) return { is: "stranger", why: stranger };
  if (status.leaderId === undefined) return { is: "unhealthy", why: "it has no leader", status };
  if (corruptMembers(snapshot).includes(id)) return { is: "unhealthy", why: CORRUPT, status };
  return { is: "healthy", status };
}

/** @param self the ID that the member reports, if it passes etcd's health check */
function unanswered(snapshot: ClusterSnapshot, self: MemberId | undefined, id: string, why: string): MemberHealth {
  if (self === undefined || isFounder(snapshot.cluster, id)) return { is: "unhealthy", why, status: undefined };
  if (hexOf(self) !== id) return { is: "stranger", why: `it runs as member ${hexOf(self)} instead of ${id}` };
  if (corruptMembers(snapshot).includes(id)) return { is: "unhealthy", why: CORRUPT, status: undefined };
  return { is: "unpublished", why: "it takes part in the quorum, but does not serve clients" };
}

const CORRUPT = "its data differs from the others' (alarm CORRUPT)";
