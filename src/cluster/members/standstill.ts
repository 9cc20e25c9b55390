import { ETCD_CONTAINER } from "#api/names.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isStopped, runs } from "#kube/pod.ts";
import { health, type KnownMember, memberNamed, participatesInQuorum, spareVoters, votersOf } from "./members.ts";
import { hasIndirectSignOfLife, silentForMs } from "./patience.ts";

// When a member is down: the kubelet reports that the etcd container does not run, and neither the member nor the
// others contradict it. Other containers do not count. A new pod may be starting, which the kubelet reports late. A pod
// that is down is recreated only for a newer template: otherwise the next one would wait for the same image, volume or
// ConfigMap.

/**
 * At this age a pod in which etcd does not run is stuck, in milliseconds; most start within ten seconds. Smaller: a
 * starting pod is recreated when the template changes. Larger: a correction takes effect later.
 */
const STARTS_WITHIN_MS = 30_000;

/**
 * Whether no etcd runs as this member, by the kubelet's report and the member's own. The kubelet may report late or
 * never, and it does not notice that the only member hangs.
 */
export function isDown(snapshot: ClusterSnapshot, name: string): boolean {
  const pod = snapshot.pods.get(name);
  const member = memberNamed(snapshot, name);
  if (
    pod === undefined ||
    (member !== undefined && (participatesInQuorum(snapshot, member) || isNeededForQuorum(snapshot, member)))
  )
    return false;
  const waits = !runs(pod, ETCD_CONTAINER) && podAgeMs(snapshot, { name }) >= STARTS_WITHIN_MS;
  return waits || isStopped(pod, ETCD_CONTAINER) || (member !== undefined && onlyVoterHangs(snapshot, member));
}

/**
 * Whether the existing quorum needs this voter, although it is not known to participate: then it must be running,
 * whatever is reported.
 */
function isNeededForQuorum(snapshot: ClusterSnapshot, { isLearner }: KnownMember): boolean {
  if (snapshot.members.is !== "present" || isLearner) return false;
  const voters = votersOf(snapshot);
  // Members that were added by hand are not dialled.
  const others = voters.filter(
    (other) => !other.isOurs || participatesInQuorum(snapshot, other) || followsLeader(snapshot, other),
  );
  return spareVoters(voters.length, others.length) < 0;
}

/** Whether the member follows a leader, whatever else is wrong with it: a member with corrupt data still votes. */
function followsLeader(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const seen = health(snapshot, member);
  return seen.is === "unhealthy" && seen.status?.leaderId !== undefined;
}

/**
 * Whether the only voter hangs: its start timeout is over, and nothing reports it healthy. Its restart affects no other
 * member.
 */
function onlyVoterHangs(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const isOnly = votersOf(snapshot).every(({ id }) => id === member.id);
  const isSilent = silentForMs(snapshot, member) >= snapshot.memberTimeoutMs;
  return isOnly && isSilent && !isYoung(snapshot, member) && !hasIndirectSignOfLife(snapshot, member);
}

/** Whether the pod cannot run etcd without a change: Kubernetes reports that, or its start timeout is over. */
export function isStuck(snapshot: ClusterSnapshot, { name }: Pick<KnownMember, "name">): boolean {
  const pod = snapshot.pods.get(name);
  if (pod === undefined || runs(pod, ETCD_CONTAINER)) return false;
  return isStopped(pod, ETCD_CONTAINER) || !isYoung(snapshot, { name });
}

/** Whether the pod is new and may be about to run etcd: no container is reported to have ended. */
export function isStarting(snapshot: ClusterSnapshot, { name }: Pick<KnownMember, "name">): boolean {
  const pod = snapshot.pods.get(name);
  return pod !== undefined && !isStopped(pod, ETCD_CONTAINER) && podAgeMs(snapshot, { name }) < STARTS_WITHIN_MS;
}

/** Whether the pod is younger than the start timeout of the canary. */
export function isYoung(snapshot: ClusterSnapshot, member: Pick<KnownMember, "name">): boolean {
  return podAgeMs(snapshot, member) < snapshot.memberTimeoutMs;
}

/** NaN without a pod. The absolute value guards against a clock far behind, which would keep every pod new forever. */
function podAgeMs({ pods, takenAtMs }: ClusterSnapshot, { name }: Pick<KnownMember, "name">): number {
  return Math.abs(takenAtMs - Date.parse(pods.get(name)?.metadata.creationTimestamp ?? ""));
}
