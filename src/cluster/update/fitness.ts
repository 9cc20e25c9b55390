import { ETCD_CONTAINER } from "#api/names.ts";
import { health, type KnownMember, ownVoters, participatesInQuorum } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { isContainerReady, isReady, isStopped, needsHelp, whyNotRunning } from "#kube/pod.ts";
import { runningRevision } from "./versions.ts";

// A member is fit, so that another may restart, when it serves clients, has caught up, and its pod is Ready. Then the
// client Service leads to it. Readiness covers the whole pod: a failing sidecar makes a member unfit, and only a new
// pod template fixes that.

/** How many raft entries a member may lag behind and still count as caught up: members apply thousands per second. */
const MAX_LAG = 1_000;

/**
 * What the member still needs before another may restart, as a clause that begins with a verb; `undefined` when it is
 * fit.
 */
export function restartBlocker(snapshot: ClusterSnapshot, member: KnownMember): string | undefined {
  const seen = health(snapshot, member);
  if (seen.is !== "healthy") return "is healthy";
  const pod = snapshot.pods.get(member.name);
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || !isReady(pod)) return "has a Ready pod";
  if (!hasCaughtUp(snapshot, seen.status)) return "has caught up with the others";
  return runningRevision(pod) === undefined ? "has a pod with a recorded template revision" : undefined;
}

function hasCaughtUp(snapshot: ClusterSnapshot, status: EndpointStatus): boolean {
  const indexes = ownVoters(snapshot).flatMap((other) => {
    const answer = health(snapshot, other);
    return answer.is === "healthy" ? [answer.status.raftIndex] : [];
  });
  return Math.max(...indexes) - status.raftAppliedIndex <= MAX_LAG;
}

/**
 * The only thing that a member lacks to be fit: readiness of the etcd container, or of a sidecar. The readiness probe
 * of etcd is a linearizable read: a member that fails it may not acknowledge writes, so no other one can be spared.
 */
export function missingReadiness(
  snapshot: ClusterSnapshot,
  member: KnownMember,
): "of etcd" | "beside etcd" | undefined {
  const seen = health(snapshot, member);
  const pod = snapshot.pods.get(member.name);
  if (seen.is !== "healthy" || pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const isAll = !isReady(pod) && hasCaughtUp(snapshot, seen.status) && runningRevision(pod) !== undefined;
  if (!isAll) return undefined;
  return isContainerReady(pod, ETCD_CONTAINER) ? "beside etcd" : "of etcd";
}

/** The other managed voters that do not participate in the quorum. */
export function othersDown(snapshot: ClusterSnapshot, name: string): readonly KnownMember[] {
  return ownVoters(snapshot).filter((member) => member.name !== name && !participatesInQuorum(snapshot, member));
}

/**
 * What Kubernetes reports about a pod that is stuck or has ended, to append to a clause about its member; otherwise "".
 */
export function podTrouble({ pods }: Pick<ClusterSnapshot, "pods">, name: string): string {
  const pod = pods.get(name);
  const isInTrouble = pod !== undefined && (needsHelp(pod) || isStopped(pod, ETCD_CONTAINER));
  const why = isInTrouble ? whyNotRunning(pod, ETCD_CONTAINER) : undefined;
  return why === undefined ? "" : `; ${name}: ${why}`;
}
