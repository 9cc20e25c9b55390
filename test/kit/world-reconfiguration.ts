import type { EtcdRefusal } from "#etcd/error.ts";
import { quorumOf } from "#etcd/quorum.ts";
import type { MemberId } from "#etcd/types.ts";
import { type ListedMember, membersOf } from "./world-disk.ts";
import type { Etcd, Process } from "./world-etcd.ts";

// Which changes of membership does etcd refuse?
//   server/etcdserver/server.go and util.go of etcd 3.6 (`mayAddMember`, `mayRemoveMember`, `mayPromoteMember`), with
//   `--strict-reconfig-check`, which is on by default. Add and remove are judged by the member that is asked, from its own
//   connections; a promotion is judged by the leader.

/** So long must a connection have held before etcd relies on it (`HealthInterval`). */
const HEALTH_INTERVAL_MS = 5_000;
/** `--max-learners`: server/embed/config.go. */
const MAX_LEARNERS = 1;
/** A learner that has this much of the leader's log is in sync (`readyPercentThreshold`). */
const READY_SHARE = 0.9;

/** Why `asked` adds no such member. */
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
  if (members.some((member) => member.peerUrl === peerUrl)) return "PeerURLExist"; // membership/cluster.go
  const learners = members.filter((member) => member.isLearner).length;
  return etcd.isStrict && isLearner && learners >= MAX_LEARNERS ? "TooManyLearners" : undefined;
}

/** Why `asked` removes no such member. */
export function whyNotRemove(etcd: Etcd, asked: Process, id: MemberId): EtcdRefusal | undefined {
  const members = membersOf(asked.data);
  const leaving = members.get(id);
  if (leaving === undefined) return "MemberNotFound";
  if (!etcd.isStrict || leaving.isLearner) return undefined;
  const voters = [...members.values()].filter((member) => !member.isLearner);
  const left = voters.filter((member) => member.id !== id);
  if (left.filter(hasStarted).length < quorumOf(left.length)) return "MemberNotEnoughStarted";
  const isDown = etcd.reachableFrom(asked).every(({ data }) => data.memberId !== id);
  if (isDown) return undefined; // it is no part of the active quorum
  const others = voters.length - 1;
  return connected(etcd, asked, voters) - 1 < 1 + Math.floor(others / 2) ? "Unhealthy" : undefined;
}

/** Why the leader gives this learner no vote. */
export function whyNotPromote(etcd: Etcd, leader: Process, id: MemberId): EtcdRefusal | undefined {
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

function hasStarted({ name }: ListedMember): boolean {
  return name !== "";
}

/** How many of the voters `asked` has been connected to for long enough, itself included (`numConnectedSince`). */
function connected(etcd: Etcd, asked: Process, voters: readonly ListedMember[]): number {
  const long = new Set(
    etcd
      .reachableFrom(asked)
      .filter((other) => other === asked || etcd.connectedForMs(asked, other) > HEALTH_INTERVAL_MS)
      .map(({ data }) => data.memberId),
  );
  return voters.filter(({ id }) => long.has(id)).length;
}
