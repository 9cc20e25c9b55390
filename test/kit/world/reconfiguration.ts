import type { EtcdRefusal } from "#etcd/error.ts";
import { quorumOf } from "#etcd/quorum.ts";
import type { MemberId } from "#etcd/types.ts";
import { type ListedMember, membersOf } from "./disk.ts";
import type { Etcd, Process } from "./etcd.ts";

// Which changes of membership does etcd refuse?
//
// server/etcdserver/server.go and util.go of etcd 3.6 (`mayAddMember`, `mayRemoveMember`, `mayPromoteMember`), with
// `--strict-reconfig-check`, which is on by default. The dialled member checks from its own connections whether an
// addition or removal is safe, before it looks for a leader. The other checks happen when the entry is applied: without
// a leader nothing is refused, and the call times out.

/** How long a connection must have lasted before etcd relies on it (`HealthInterval`). */
const HEALTH_INTERVAL_MS = 5_000;
/** `--max-learners`: server/embed/config.go. */
const MAX_LEARNERS = 1;
/** A learner that has this share of the leader's log is in sync (`readyPercentThreshold`). */
const READY_SHARE = 0.9;

/** Why `asked` refuses to add this member. */
export function whyNotAdd(
  etcd: Etcd,
  asked: Process,
  { isLearner, peerUrl }: Pick<ListedMember, "isLearner" | "peerUrl">,
): EtcdRefusal | undefined {
  const members = [...membersOf(asked.data).values()];
  if (etcd.isStrict) {
    const voters = members.filter((member) => !member.isLearner);
    const started = voters.filter(hasStarted).length;
    const isFirstAddition = started === 1 && voters.length === 1;
    if (!isLearner && !isFirstAddition && started < quorumOf(voters.length + 1)) return "MemberNotEnoughStarted";
    if (voters.length > 1 && connected(etcd, asked, voters) < quorumOf(voters.length + 1)) return "Unhealthy";
  }
  const listed = listedBy(etcd.leaderOf(asked));
  if (listed.some((member) => member.peerUrl === peerUrl)) return "PeerURLExist"; // membership/cluster.go
  const learners = listed.filter((member) => member.isLearner).length;
  return etcd.isStrict && isLearner && learners >= MAX_LEARNERS ? "TooManyLearners" : undefined;
}

/** Why `asked` refuses to remove this member. */
export function whyNotRemove(etcd: Etcd, asked: Process, id: MemberId): EtcdRefusal | undefined {
  if (etcd.isStrict) {
    const unsafe = whyNotSafe(etcd, asked, id);
    if (unsafe !== undefined) return unsafe;
  }
  const leader = etcd.leaderOf(asked);
  return leader === undefined || membersOf(leader.data).has(id) ? undefined : "MemberNotFound";
}

function whyNotSafe(etcd: Etcd, asked: Process, id: MemberId): EtcdRefusal | undefined {
  const members = membersOf(asked.data);
  if (members.get(id)?.isLearner === true) return undefined;
  const voters = [...members.values()].filter((member) => !member.isLearner);
  const left = voters.filter((member) => member.id !== id);
  if (left.filter(hasStarted).length < quorumOf(left.length)) return "MemberNotEnoughStarted";
  const isDown = etcd.reachableFrom(asked).every(({ data }) => data.memberId !== id);
  if (isDown) return undefined; // it is not in the active quorum
  const others = voters.length - 1;
  return connected(etcd, asked, voters) - 1 < 1 + Math.floor(others / 2) ? "Unhealthy" : undefined;
}

/** Why the leader refuses to promote this learner. */
export function whyNotPromote(etcd: Etcd, asked: Process, id: MemberId): EtcdRefusal | undefined {
  const leader = etcd.leaderOf(asked);
  if (leader === undefined) return undefined;
  const members = membersOf(leader.data);
  const member = members.get(id);
  if (member === undefined) return "MemberNotFound";
  if (!member.isLearner) return "MemberNotLearner";
  const learner = etcd.reachableFrom(leader).find(({ data }) => data.memberId === id);
  if ((learner?.data.log.length ?? 0) < leader.data.log.length * READY_SHARE) return "LearnerNotReady";
  const voters = [...members.values()].filter(({ isLearner }) => !isLearner);
  const started = voters.filter(hasStarted).length + 1; // the learner counts as started
  return etcd.isStrict && started < quorumOf(voters.length + 1) ? "MemberNotEnoughStarted" : undefined;
}

/**
 * Why the leader refuses to change the member's peer URL: `ValidateConfigurationChange` in
 * server/etcdserver/api/membership/cluster.go.
 */
export function whyNotUpdate(etcd: Etcd, asked: Process, id: MemberId, peerUrl: string): EtcdRefusal | undefined {
  const leader = etcd.leaderOf(asked);
  if (leader === undefined) return undefined;
  const listed = listedBy(leader);
  if (!listed.some((member) => member.id === id)) return "MemberNotFound";
  return listed.some((member) => member.id !== id && member.peerUrl === peerUrl) ? "PeerURLExist" : undefined;
}

function listedBy(leader: Process | undefined): readonly ListedMember[] {
  return leader === undefined ? [] : [...membersOf(leader.data).values()];
}

function hasStarted({ name }: ListedMember): boolean {
  return name !== "";
}

/** Number of voters to which `asked` has been connected for long enough, itself included (`numConnectedSince`). */
function connected(etcd: Etcd, asked: Process, voters: readonly ListedMember[]): number {
  const long = new Set(
    etcd
      .reachableFrom(asked)
      .filter((other) => other === asked || etcd.connectedForMs(asked, other) > HEALTH_INTERVAL_MS)
      .map(({ data }) => data.memberId),
  );
  return voters.filter(({ id }) => long.has(id)).length;
}
