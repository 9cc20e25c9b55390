import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { containerOf } from "./member-state.ts";
import { type KnownMember, memberNamed, spareVoters, votersOf } from "./members.ts";

// When a member is down: the kubelet reports that the etcd container does not run, and neither the member nor the
// others contradict it. Other containers do not count. A new pod may be starting, which the kubelet reports late. A pod
// that is down is recreated only for a newer template: otherwise the next one would wait for the same image, volume or
// ConfigMap.

/**
 * Whether no etcd runs as this member, by the kubelet's report and the member's own. The kubelet may report late or
 * never, and it does not notice that the only member hangs.
 */
export function isDown(snapshot: ClusterSnapshot, name: string): boolean {
  const member = memberNamed(snapshot, name);
  const { is, isNew } = containerOf(snapshot, name);
  if (member?.participatesInQuorum || (member && isNeededForQuorum(snapshot, member))) return false;
  const hangs = member !== undefined && onlyVoterHangs(snapshot, member);
  switch (is) {
    case "none":
      return false;
    case "running":
      return hangs;
    case "waiting":
    case "overdue":
      return hangs || !isNew;
    case "stopped":
      return true;
  }
}

/**
 * Whether the existing quorum needs this voter, although it is not known to participate: then it must be running,
 * whatever is reported.
 */
function isNeededForQuorum(snapshot: ClusterSnapshot, { isLearner }: KnownMember): boolean {
  if (snapshot.members.is !== "present" || isLearner) return false;
  const voters = votersOf(snapshot);
  // Members that were added by hand are not dialled.
  const others = voters.filter((other) => !other.isOurs || other.participatesInQuorum || followsLeader(other));
  return spareVoters(voters.length, others.length) < 0;
}

/** Whether the member follows a leader, whatever else is wrong with it: a member with corrupt data still votes. */
function followsLeader({ health }: KnownMember): boolean {
  return health.is === "unhealthy" && health.status?.leaderId !== undefined;
}

/**
 * Whether the only voter hangs: its start timeout is over, and nothing reports it healthy. Its restart affects no other
 * member.
 */
function onlyVoterHangs(snapshot: ClusterSnapshot, { id, history, container, isVouchedFor }: KnownMember): boolean {
  const isOnly = votersOf(snapshot).every((voter) => voter.id === id);
  const isSilent = history.silentForMs >= snapshot.memberTimeoutMs;
  return isOnly && isSilent && !container.isYoung && !isVouchedFor;
}
