import { isToSleep } from "#api/sleep.ts";
import { claimOf, type KnownMember, ownVoters, spareVoters, takesPart, votersOf } from "#cluster/members.ts";
import { hasNothing } from "#cluster/patience.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";

// What of a claim that somebody has deleted?
//   It is there, with what is on it, for as long as its pod is (finalizer kubernetes.io/pvc-protection), and nobody can take the deletion back.
//   Where the others are a quorum without it, its member is restarted as ever, has lost its claim then, and is replaced. Where they are none,
//   what nobody else has would go with the pod: that is for a person to do.
// And where nobody is wanted? Then nobody is replaced either: who has lost its claim sleeps without data.
// And where fewer are wanted? Those whose claims go are the first to go. Of three or more each can be replaced from the rest, of one or two none: when it
//   would be so few and too few others are left for a quorum of them, all stay.

const ADVICE =
  "have a backup, and set spec.replicas back; with three members or more each is replaced when its pod is deleted, one after another";

/** Why the pod of this member is not stopped for a restart, for people; `undefined` when it may be. */
export function whyHeldUp(snapshot: ClusterSnapshot, name: string): string | undefined {
  const voters = votersOf(snapshot);
  const dying = voters.filter((member) => member.name === name && isDying(snapshot, member));
  const left = voters.filter((member) => member.name !== name && takesPart(snapshot, member));
  const advice = "have a backup, or the PersistentVolume retained, and delete the pod to give it up";
  const why = whyHeld(voters.length, dying, left, `to take part; ${advice}`);
  if (why !== undefined || dying.length === 0) return why;
  // Where fewer are wanted, or nobody is, who has lost its claim goes for good.
  return isToSleep(snapshot.cluster) ? whyHeldAwake(snapshot) : whyHeldTogether(snapshot, name);
}

/** Why members are not put to sleep, for people; `undefined` when they may be. Who answers nobody has its data all the same. */
export function whyHeldAwake(snapshot: ClusterSnapshot): string | undefined {
  const dying = ownVoters(snapshot).filter((member) => isDying(snapshot, member));
  const voters = votersOf(snapshot);
  const left = voters.filter((member) => !dying.includes(member) && mayHaveData(snapshot, member));
  return whyHeld(voters.length, dying, left, `with data; ${ADVICE}`);
}

/** Why this member does not go for the sake of fewer members, for people; `undefined` when it may. */
export function whyHeldTogether(snapshot: ClusterSnapshot, name: string): string | undefined {
  const { replicas } = snapshot.cluster.spec;
  const canBeReplaced = spareVoters(replicas, replicas - 1) >= 0;
  const voters = ownVoters(snapshot).filter((member) => mayHaveData(snapshot, member));
  if (canBeReplaced || !voters.some((member) => member.name === name)) return undefined;
  const dying = voters.filter((member) => isDying(snapshot, member));
  const left = voters.filter((member) => !dying.includes(member) && member.name !== name);
  return whyHeld(replicas, dying, left, `whose claims stay; ${ADVICE}`);
}

/** Whether members run on although nobody is wanted. Nobody is restarted for an edit then. */
export function isKeptAwake(snapshot: ClusterSnapshot): boolean {
  return isToSleep(snapshot.cluster) && whyHeldAwake(snapshot) !== undefined;
}

/** @param voters of how many `left` are to be a quorum */
function whyHeld(
  voters: number,
  dying: readonly KnownMember[],
  left: readonly KnownMember[],
  what: string,
): string | undefined {
  if (dying.length === 0 || spareVoters(voters, left.length) >= 0) return undefined;
  const names = dying.map(({ name }) => name).join(", ");
  const which = dying.length === 1 ? `claim ${names} is` : `claims ${names} are`;
  const remaining = `${left.length} of ${voters} members would be left ${what}`;
  return `${which} being deleted, and what is on it goes when its pod ends: ${remaining}`;
}

/** Whether its claim goes with its pod, and data with it. */
export function isDying(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (!mayHaveData(snapshot, member) && !mayHaveRun(snapshot, member)) return false;
  return snapshot.claims.some(
    ({ metadata }) => metadata.name === member.name && metadata.deletionTimestamp !== undefined,
  );
}

/**
 * Whether a first member of which nothing is on record yet may have run all the same, and have answered clients, while no operator looked: its claim has a
 * volume, and not an empty one that etcd refused. Nobody counts on what it may have.
 */
function mayHaveRun(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (!isForming(snapshot) || hasNothing(snapshot, member)) return false;
  return claimOf(snapshot, member)?.spec?.volumeName !== undefined;
}

/** Whether it has data, as far as is known: one that has never started has none, and of one that a person has added nobody sees the volume. */
function mayHaveData(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return member.hasStarted && (!member.isOurs || !hasNothing(snapshot, member));
}
