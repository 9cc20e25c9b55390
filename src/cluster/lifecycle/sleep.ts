import { pausedBy } from "#api/pause.ts";
import { isAsleep, isToSleep } from "#api/sleep.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { type KnownMember, ownVoters, votersOf } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf, remembered } from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { isOver } from "#kube/pod.ts";

// When does a cluster sleep?
//   When spec.replicas is 0, once it has formed and every joined member is fenced. That is recorded first
//   (status.sleep); only then
//   does the `peer` controller stop members. Nothing is decided about a cluster that sleeps.
// And when it wakes up?
//   All members start again, whatever spec.replicas is, and have as long as a restarted member has. Until then no
//   member counts as
//   lost, and the membership does not change.

/** Whether the cluster sleeps, or does not exist yet because spec.replicas is 0. */
export function sleeps({ cluster }: Pick<ClusterSnapshot, "cluster">): boolean {
  return isAsleep(cluster) || (isToSleep(cluster) && cluster.status?.identity === undefined);
}

/** A sentence about the sleep and its reason; `undefined` when the cluster does not sleep. */
export function sleepText(snapshot: ClusterSnapshot): string | undefined {
  if (!sleeps(snapshot)) return undefined;
  return identityOf(snapshot) === undefined
    ? "spec.replicas is 0: nothing is created until it is 1 or more"
    : "spec.replicas is 0: members are stopped, and their data and identity are kept; with 1 or more they start again";
}

/** A warning that sleeping members have lost claims, which nothing else would report. `undefined` when none has. */
export function lostAsleepText(snapshot: ClusterSnapshot): string | undefined {
  const founders = identityOf(snapshot)?.initialMembers ?? [];
  const hasData = (member: KnownMember) => founders.every(({ id, joined }) => id !== member.id || joined);
  const lost = ownVoters(snapshot).filter((member) => hasData(member) && member.data.claim === "none");
  if (lost.length === 0) return undefined;
  const voters = votersOf(snapshot).length;
  const [left, needed] = [voters - lost.length, quorumOf(voters)];
  const outlook =
    left >= needed
      ? "replaced when the others are awake"
      : `the claims of ${left} of ${voters} members are left, and ${needed} are needed to wake up`;
  return `claims that are gone, or have lost their labels: ${lost.map(({ name }) => name).join(", ")}; ${outlook}`;
}

/**
 * A sentence that the cluster is about to sleep, or will after the pause; `undefined` when spec.replicas is not 0, or
 * it sleeps already.
 */
export function tiredText({ cluster }: ClusterSnapshot): string | undefined {
  if (!isToSleep(cluster)) return undefined;
  const pause = pausedBy(cluster);
  const when = pause === undefined ? "members are about to stop" : `members stop once the pause is over (${pause})`;
  return `spec.replicas is 0: ${when}; their data and identity are kept`;
}

/** Names of members with pods that have yet to stop. The pod of an ended process may still exist. */
export function withPods({ pods }: Pick<ClusterSnapshot, "pods">): readonly string[] {
  return [...pods].flatMap(([name, pod]) => (isOver(pod) ? [] : [name])).sort();
}

/**
 * Members that slept and are awaited before anything else is decided. Excluded: members that have lost their data, and
 * members that have never started, which start once the others are back.
 */
export const waking = remembered((snapshot): readonly KnownMember[] => {
  if (!isWokenJustNow(snapshot)) return [];
  return ownVoters(snapshot).filter(
    (member) =>
      member.hasStarted && !isBack(snapshot, member) && member.data.fault === "none" && member.data.claim !== "none",
  );
});

/**
 * Estimated time after the wake-up in which a ReplicaSet controller with a stale cache may stop a pod from before the
 * sleep, in milliseconds. Shorter: the member counts as back, and then stops. Longer: an edit waits longer.
 */
const LATE_STOP_MS = 10_000;

/** Whether the member participates in the quorum and is not about to stop: etcd serves until its pod ends. */
function isBack(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (!member.participatesInQuorum) return false;
  const { creationTimestamp, deletionTimestamp } = snapshot.pods.get(member.name)?.metadata ?? {};
  if (deletionTimestamp !== undefined) return false;
  const { startTime = "", wakeTime = "" } = snapshot.cluster.status?.sleep ?? {};
  const isFromBefore = Date.parse(creationTimestamp ?? "") < Date.parse(startTime);
  return !isFromBefore || Math.abs(snapshot.takenAtMs - Date.parse(wakeTime)) >= LATE_STOP_MS;
}

/** Whether the cluster is waking up. */
export function isWaking(snapshot: ClusterSnapshot): boolean {
  return waking(snapshot).length > 0;
}

/** Whether the members still have time to wake up. Clocks of two operator processes may differ. */
function isWokenJustNow({ cluster, takenAtMs, memberTimeoutMs }: ClusterSnapshot): boolean {
  const sleep = cluster.status?.sleep;
  if (sleep === undefined || isToSleep(cluster)) return false;
  return sleep.wakeTime === undefined || Math.abs(takenAtMs - Date.parse(sleep.wakeTime)) < memberTimeoutMs;
}

/** The recorded sleep: complete until the last member is awake. */
export function sleepStatus(snapshot: ClusterSnapshot): NonNullable<EtcdCluster["status"]>["sleep"] {
  const { cluster } = snapshot;
  const isOver = !isToSleep(cluster) && cluster.status?.sleep?.wakeTime !== undefined && !isWaking(snapshot);
  return isOver ? undefined : cluster.status?.sleep;
}

/** A sentence: how many members are back, and which are waking. */
export function wakingText(snapshot: ClusterSnapshot): string {
  const missing = waking(snapshot).map(({ name }) => name);
  const all = ownVoters(snapshot).length;
  return `${all - missing.length} of ${all} members that slept are back; waking: ${missing.join(", ")}`;
}
