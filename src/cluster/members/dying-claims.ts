import { isToSleep } from "#api/sleep.ts";
import { claimOf } from "#cluster/members/listed-members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { type KnownMember, ownVoters, spareVoters, votersOf } from "./members.ts";

// A claim with a deletion timestamp exists, with its data, until its pod ends (finalizer kubernetes.io/pvc-protection).
// The deletion cannot be undone.
// - If the other members are a quorum, its member is restarted as usual, loses its data then, and is replaced. If not,
//   data would be lost that no other member has: a person has to decide.
// - With `spec.replicas` 0, no member is replaced. One that has lost its claim sleeps without data.
// - When scaling down, members with such claims are removed first. Of three or more members each can be replaced from
//   the rest, of one or two none. If too few others would be left for a quorum, all stay.

const ADVICE =
  "make a backup and restore the previous spec.replicas. With three or more members, then delete their pods one after another: each member is replaced";

/** Why the pod of this member is not stopped for a restart, for people; `undefined` when it may be. */
export function whyRestartHeld(snapshot: ClusterSnapshot, name: string): string | undefined {
  const voters = votersOf(snapshot);
  const dying = voters.filter((member) => member.name === name && hasDyingClaim(snapshot, member));
  const left = voters.filter((member) => member.name !== name && member.participatesInQuorum);
  const advice = "make a backup, or retain the PersistentVolume; then delete the pod, which deletes the data";
  const why = whyHeld(voters.length, dying, left, `in the quorum; ${advice}`);
  if (why !== undefined || dying.length === 0) return why;
  // While scaling down or putting to sleep, lost data is not replaced.
  return isToSleep(snapshot.cluster) ? whySleepHeld(snapshot) : whyScaleDownHeld(snapshot, name);
}

/**
 * Why members are not put to sleep, for people; `undefined` when they may be. A member that does not answer still has
 * its data.
 */
export function whySleepHeld(snapshot: ClusterSnapshot): string | undefined {
  const dying = ownVoters(snapshot).filter((member) => hasDyingClaim(snapshot, member));
  const voters = votersOf(snapshot);
  const left = voters.filter((member) => !dying.includes(member) && mayHaveData(member));
  return whyHeld(voters.length, dying, left, `with data; ${ADVICE}`);
}

/** Why this member is not removed by scaling down, for people; `undefined` when it may be. */
export function whyScaleDownHeld(snapshot: ClusterSnapshot, name: string): string | undefined {
  const { replicas } = snapshot.cluster.spec;
  const canBeReplaced = spareVoters(replicas, replicas - 1) >= 0;
  const voters = ownVoters(snapshot).filter((member) => mayHaveData(member));
  if (canBeReplaced || !voters.some((member) => member.name === name)) return undefined;
  const dying = voters.filter((member) => hasDyingClaim(snapshot, member));
  const left = voters.filter((member) => !dying.includes(member) && member.name !== name);
  return whyHeld(replicas, dying, left, `with claims that stay; ${ADVICE}`);
}

/** Whether members keep running although `spec.replicas` is 0. No member is restarted for an update then. */
export function isSleepHeld(snapshot: ClusterSnapshot): boolean {
  return isToSleep(snapshot.cluster) && whySleepHeld(snapshot) !== undefined;
}

/** @param voters how many members the quorum is computed from @param left the members that would be left */
function whyHeld(
  voters: number,
  dying: readonly KnownMember[],
  left: readonly KnownMember[],
  what: string,
): string | undefined {
  if (dying.length === 0 || spareVoters(voters, left.length) >= 0) return undefined;
  const names = dying.map(({ name }) => name).join(", ");
  const which =
    dying.length === 1
      ? `claim ${names} is being deleted, and its data is lost when its pod ends`
      : `claims ${names} are being deleted, and their data is lost when their pods end`;
  const remaining = `${left.length} of ${voters} members would be left ${what}`;
  return `${which}: ${remaining}`;
}

/** Whether the claim of the member, and its data, is deleted once its pod ends. */
export function hasDyingClaim(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (!mayHaveData(member) && !mayHaveRun(snapshot, member)) return false;
  return member.data.claim === "dying";
}

/**
 * Whether a voter that etcd does not list as started may have run, and served clients: while the operator was down, or
 * a moment ago. Then its claim has a volume that is not known to be empty. No decision relies on its data.
 */
function mayHaveRun(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (member.data.isLost) return false;
  return claimOf(snapshot, member)?.spec?.volumeName !== undefined;
}

/**
 * Whether the member has data, as far as is known. A member that never started has none. The volume of a member that
 * was added by hand is not visible.
 */
function mayHaveData(member: KnownMember): boolean {
  return member.hasStarted && (!member.isOurs || !member.data.isLost);
}
