import { ETCD_CONTAINER } from "#api/names.ts";
import { health, type KnownMember, memberNamed, spareVoters, takesPart, votersOf } from "#cluster/members.ts";
import { isVouchedFor, silentForMs } from "#cluster/patience.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isStopped, runs } from "#kube/pod.ts";

// When does no etcd run as a member?
//   When the kubelet does not say that etcd's own container runs, whatever the pod's other containers do, and nobody knows better: neither
//   the member itself nor the others. A pod that was made just now may be starting, which the kubelet has yet to tell.
// And is it made anew then?
//   Only when something else is wanted of it than it was made from: else the next one would wait for the same image, volume or ConfigMap.

/**
 * A pod of this age in which etcd does not run yet, in milliseconds, waits for something. Most start within ten seconds. Too small: one
 * that is just starting is made anew when the wish has changed. Too large: people wait for their correction.
 */
const STARTS_WITHIN_MS = 30_000;

/**
 * Whether no etcd runs as this member: by the kubelet's word, and by its own. A kubelet may tell late, or not at all; and of the only member
 * it does not tell that it hangs.
 */
export function isDown(snapshot: ClusterSnapshot, name: string): boolean {
  const pod = snapshot.pods.get(name);
  const member = memberNamed(snapshot, name);
  if (pod === undefined || (member !== undefined && (takesPart(snapshot, member) || isNeeded(snapshot, member))))
    return false;
  const waits = !runs(pod, ETCD_CONTAINER) && podAgeMs(snapshot, { name }) >= STARTS_WITHIN_MS;
  return waits || isStopped(pod, ETCD_CONTAINER) || (member !== undefined && hangs(snapshot, member));
}

/** Whether there is a quorum, and would be none without this voter, which is not known to take part: then it does its part, whatever is told of it. */
function isNeeded(snapshot: ClusterSnapshot, { isLearner }: KnownMember): boolean {
  if (snapshot.members.is !== "present" || isLearner) return false;
  const voters = votersOf(snapshot);
  // Somebody else's are not asked how they are.
  const others = voters.filter((other) => !other.isOurs || takesPart(snapshot, other) || votes(snapshot, other));
  return spareVoters(voters.length, others.length) < 0;
}

/** Whether it follows a leader, whatever else is wrong with it: a member whose data differs is not to be counted on, and votes all the same. */
function votes(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const seen = health(snapshot, member);
  return seen.is === "unhealthy" && seen.status?.leaderId !== undefined;
}

/** Whether the only voter has had its time to come up, and nobody has a word from it: there is nobody whom its restart could cost anything. */
function hangs(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const isOnly = votersOf(snapshot).every(({ id }) => id === member.id);
  const isSilent = silentForMs(snapshot, member) >= snapshot.memberTimeoutMs;
  return isOnly && isSilent && !isYoung(snapshot, member) && !isVouchedFor(snapshot, member);
}

/** Whether the member's pod will not run etcd before something changes: Kubernetes says so, or it has had its time. */
export function isStuck(snapshot: ClusterSnapshot, { name }: Pick<KnownMember, "name">): boolean {
  const pod = snapshot.pods.get(name);
  if (pod === undefined || runs(pod, ETCD_CONTAINER)) return false;
  return isStopped(pod, ETCD_CONTAINER) || !isYoung(snapshot, { name });
}

/** Whether the member's pod was made a moment ago, and may be about to run etcd: nobody says that it has ended. */
export function isStarting(snapshot: ClusterSnapshot, { name }: Pick<KnownMember, "name">): boolean {
  const pod = snapshot.pods.get(name);
  return pod !== undefined && !isStopped(pod, ETCD_CONTAINER) && podAgeMs(snapshot, { name }) < STARTS_WITHIN_MS;
}

/** Whether the member's pod is younger than the first one may take to come up. */
export function isYoung(snapshot: ClusterSnapshot, member: Pick<KnownMember, "name">): boolean {
  return podAgeMs(snapshot, member) < snapshot.memberTimeoutMs;
}

/** Not a number without a pod. A clock that is far behind would call every pod new for ever. */
function podAgeMs({ pods, takenAtMs }: ClusterSnapshot, { name }: Pick<KnownMember, "name">): number {
  return Math.abs(takenAtMs - Date.parse(pods.get(name)?.metadata.creationTimestamp ?? ""));
}
