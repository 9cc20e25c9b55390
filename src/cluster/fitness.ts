import { ETCD_CONTAINER } from "#api/names.ts";
import { health, type KnownMember, ownVoters, takesPart } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { runningRevision } from "#cluster/versions.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { isContainerReady, isReady } from "#kube/pod.ts";

// Who can be counted on while somebody else restarts?
//   Who serves clients, has caught up, and is ready by the kubelet's word, so that the client Service leads there. That word is about the
//   whole pod: what people have put beside etcd may keep it from being ready, and then only their next edit helps.

/** How many entries of the log a member may be behind the others and still count as caught up: they apply thousands in a second. */
const MAX_LAG = 1_000;

/** Why the member is not fit to be counted on while another one restarts, as a clause that begins with a verb; `undefined` when it is. */
export function whyUnfit(snapshot: ClusterSnapshot, member: KnownMember): string | undefined {
  const seen = health(snapshot, member);
  if (seen.is !== "healthy") return "is healthy";
  const pod = snapshot.pods.get(member.name);
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || !isReady(pod))
    return "is ready by the kubelet's word";
  if (!hasCaughtUp(snapshot, seen.status)) return "has caught up with the others";
  return runningRevision(pod) === undefined ? "has on record what its pod was made from" : undefined;
}

function hasCaughtUp(snapshot: ClusterSnapshot, status: EndpointStatus): boolean {
  const indexes = ownVoters(snapshot).flatMap((other) => {
    const answer = health(snapshot, other);
    return answer.is === "healthy" ? [answer.status.raftIndex] : [];
  });
  return Math.max(...indexes) - status.raftAppliedIndex <= MAX_LAG;
}

/**
 * Whose readiness is all that the member lacks to be fit, in a pod that stays: that of etcd's own container, or only of what is beside it.
 * etcd's is a linearizable read: who does not pass it may not acknowledge what others write, and nobody else can be spared.
 */
export function lackedReadiness(snapshot: ClusterSnapshot, member: KnownMember): "of etcd" | "beside etcd" | undefined {
  const seen = health(snapshot, member);
  const pod = snapshot.pods.get(member.name);
  if (seen.is !== "healthy" || pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const isAll = !isReady(pod) && hasCaughtUp(snapshot, seen.status) && runningRevision(pod) !== undefined;
  if (!isAll) return undefined;
  return isContainerReady(pod, ETCD_CONTAINER) ? "beside etcd" : "of etcd";
}

/** Members of ours that do not do their part, besides this one. */
export function othersDown(snapshot: ClusterSnapshot, name: string): readonly KnownMember[] {
  return ownVoters(snapshot).filter((member) => member.name !== name && !takesPart(snapshot, member));
}
