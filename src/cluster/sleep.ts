import { pausedBy } from "#api/pause.ts";
import { isAsleep, isToSleep } from "#api/sleep.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { type KnownMember, ownVoters, takesPart, votersOf } from "#cluster/members.ts";
import { hasNoClaim, isDataWrong } from "#cluster/patience.ts";
import { type ClusterSnapshot, identityOf, remembered } from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { isOver } from "#kube/pod.ts";

// When does a cluster sleep?
//   When nobody is wanted (spec.replicas 0), once it has formed and whoever has joined is fenced. That is put on record first
//   (status.sleep), and only then does the room of the members stop any. Nothing is decided about a cluster that sleeps.
// And when it wakes?
//   All who slept start again, however many are wanted by now, and are waited for as long as a restarted member is: until then nobody
//   is lost, and nobody comes or goes. Then everything goes on as it was.

/** Whether the cluster sleeps, or has yet to be begun because nobody is wanted. */
export function sleeps({ cluster }: Pick<ClusterSnapshot, "cluster">): boolean {
  return isAsleep(cluster) || (isToSleep(cluster) && cluster.status?.identity === undefined);
}

/** That it sleeps and why, for people; `undefined` when it does not. */
export function sleepText(snapshot: ClusterSnapshot): string | undefined {
  if (!sleeps(snapshot)) return undefined;
  return identityOf(snapshot) === undefined
    ? "spec.replicas is 0: nothing is made until it is 1 or more"
    : "spec.replicas is 0: members are stopped, and their data and identity are kept; with 1 or more they start again";
}

/** Why people should hear of members that sleep: claims of theirs are gone, which nobody else notices meanwhile. `undefined` when none is. */
export function lostAsleepText(snapshot: ClusterSnapshot): string | undefined {
  const founders = identityOf(snapshot)?.initialMembers ?? [];
  const hasData = (member: KnownMember) => founders.every(({ id, joined }) => id !== member.id || joined);
  const lost = ownVoters(snapshot).filter((member) => hasData(member) && hasNoClaim(snapshot, member));
  if (lost.length === 0) return undefined;
  const voters = votersOf(snapshot).length;
  const [left, needed] = [voters - lost.length, quorumOf(voters)];
  const outlook =
    left >= needed
      ? "replaced when the others are awake"
      : `the claims of ${left} of ${voters} members are left, and ${needed} are needed to wake up`;
  return `claims that are gone, or have lost their labels: ${lost.map(({ name }) => name).join(", ")}; ${outlook}`;
}

/** That nobody is wanted, and its members are not told to stop yet; during a pause they are not. */
export function tiredText({ cluster }: ClusterSnapshot): string | undefined {
  if (!isToSleep(cluster)) return undefined;
  const pause = pausedBy(cluster);
  const when = pause === undefined ? "members are about to stop" : `members stop once the pause is over (${pause})`;
  return `spec.replicas is 0: ${when}; their data and identity are kept`;
}

/** Members whose pods have yet to stop, by name. A pod that has ended for good may stay on record. */
export function withPods({ pods }: Pick<ClusterSnapshot, "pods">): readonly string[] {
  return [...pods].flatMap(([name, pod]) => (isOver(pod) ? [] : [name])).sort();
}

/**
 * Members that slept, and are waited for before anything else is decided. Whose data is gone or wrong does not come back by itself, and who has
 * never started does when the others are back.
 */
export const waking = remembered((snapshot): readonly KnownMember[] => {
  if (!isWokenJustNow(snapshot)) return [];
  return ownVoters(snapshot).filter(
    (member) =>
      member.hasStarted && !isBack(snapshot, member) && !isDataWrong(snapshot, member) && !hasNoClaim(snapshot, member),
  );
});

/**
 * How long after waking a pod from before the sleep may still be told to stop, in milliseconds: by a ReplicaSet controller that has yet to hear
 * of it. Ten seconds is a guess. Too small: its member counts as back, and is not waited for when it goes. Too large: what was edited waits.
 */
const LATE_STOP_MS = 10_000;

/** Whether the member takes part, and is not just about to stop: etcd serves until its pod ends. */
function isBack(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (!takesPart(snapshot, member)) return false;
  const { creationTimestamp, deletionTimestamp } = snapshot.pods.get(member.name)?.metadata ?? {};
  if (deletionTimestamp !== undefined) return false;
  const { since = "", wokenAt = "" } = snapshot.cluster.status?.sleep ?? {};
  const isFromBefore = Date.parse(creationTimestamp ?? "") < Date.parse(since);
  return !isFromBefore || Math.abs(snapshot.takenAtMs - Date.parse(wokenAt)) >= LATE_STOP_MS;
}

/** Whether the cluster is waking up. */
export function isWaking(snapshot: ClusterSnapshot): boolean {
  return waking(snapshot).length > 0;
}

/** Whether it was woken, and those who slept have not had their time yet. The clock of one operator may be behind that of another. */
function isWokenJustNow({ cluster, takenAtMs, memberTimeoutMs }: ClusterSnapshot): boolean {
  const sleep = cluster.status?.sleep;
  if (sleep === undefined || isToSleep(cluster)) return false;
  return sleep.wokenAt === undefined || Math.abs(takenAtMs - Date.parse(sleep.wokenAt)) < memberTimeoutMs;
}

/** What stays on record of the sleep: all of it until the last one is awake. */
export function sleepStatus(snapshot: ClusterSnapshot): NonNullable<EtcdCluster["status"]>["sleep"] {
  const { cluster } = snapshot;
  const isOver = !isToSleep(cluster) && cluster.status?.sleep?.wokenAt !== undefined && !isWaking(snapshot);
  return isOver ? undefined : cluster.status?.sleep;
}

/** Who is still waking, and who is back, for people. */
export function wakingText(snapshot: ClusterSnapshot): string {
  const missing = waking(snapshot).map(({ name }) => name);
  const all = ownVoters(snapshot).length;
  return `${all - missing.length} of ${all} members that slept are back; waking: ${missing.join(", ")}`;
}
