import type { Removal as Reason } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { whyScaleDownHeld } from "#cluster/members/dying-claims.ts";
import { idOf, type KnownMember, knownMembers, leaderOf } from "#cluster/members/members.ts";
import { isNeverReplaced, votersToReplace } from "#cluster/members/patience.ts";
import { isSurplusLearner, surplusVoter } from "#cluster/members/surplus.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { leadershipTarget } from "#cluster/update/leadership-target.ts";
import { type Proposed, step, wait } from "#runtime/decide.ts";

interface Removal {
  readonly member: KnownMember;
  readonly peer: EtcdPeer;
  readonly reason: Reason;
}

/** Whether the reason for the removal still holds. `unsure`: this process has not observed it for long enough yet. */
type Standing = "holds" | "unsure" | "gone";

/** The recheck interval for a member that may be well, in milliseconds. */
const UNSURE_RECHECK_MS = 2_000;

/**
 * Carries out a recorded removal: the leadership moves first, then the member is removed. The record is deleted when
 * its reason no longer holds, or when a lost reply has left a second one: two would block each other.
 */
export const removeMember: ClusterRule = {
  name: "remove-member",
  decide(snapshot) {
    const removals = recorded(snapshot);
    const unwanted = removals.find((removal) => standing(snapshot, removal) === "gone");
    if (unwanted !== undefined) {
      const { name } = unwanted.member;
      if (unwanted.reason === "scale-down") return withdrawal(unwanted, `${name} no longer has to be removed`);
      const isLost = isNeverReplaced(snapshot, unwanted.member) && !unwanted.member.participatesInQuorum;
      const why = isLost ? "is not replaced any more: spec.replacement.policy is Never" : "is healthy, or may be";
      return withdrawal(unwanted, `${name} ${why}`);
    }
    const [first, second] = joiningFirst(removals);
    if (first === undefined) return undefined;
    if (second !== undefined && !isJoining(first.member))
      return withdrawal(second, `${first.member.name} is removed before ${second.member.name}`);
    const { member, reason } = first;
    if (standing(snapshot, first) === "unsure") {
      const because = `${member.name} was given up (${reason}); its health is checked again before it is removed`;
      return wait(because, UNSURE_RECHECK_MS);
    }
    const successor = leadershipTarget(snapshot, member);
    // Only the leader itself can transfer the leadership. If it does not answer, the others remove it anyway.
    const answers = snapshot.endpoints.get(member.name)?.is === "present";
    if (leaderOf(snapshot)?.id === member.id && answers && successor !== undefined) {
      const because = `${member.name} leads and is about to be removed; ${successor.name} takes over`;
      return step(because, {
        do: "moveLeader",
        from: member.name,
        to: successor.name,
        id: idOf(successor),
      });
    }
    const because = `${member.name} is removed: ${reason}`;
    return step(because, { do: "removeMember", name: member.name, id: idOf(member) });
  },
};

/** Members without a vote are removed first: that is always safe, and other removals wait for it. */
function joiningFirst(removals: readonly Removal[]): readonly Removal[] {
  const [coming = [], others = []] = [true, false].map((is) =>
    removals.filter(({ member }) => isJoining(member) === is),
  );
  return [...coming, ...others];
}

/** Only managed members have a recorded removal. */
function isJoining({ joining }: KnownMember): boolean {
  return joining !== "none";
}

function recorded(snapshot: ClusterSnapshot): readonly Removal[] {
  return knownMembers(snapshot).flatMap((member) => {
    const peer = peerNamed(snapshot, member.name);
    const { removal } = member;
    return peer === undefined || removal === undefined ? [] : [{ member, peer, reason: removal }];
  });
}

/**
 * A lost member is not removed on the record of an earlier process: this one must have observed it lost for as long.
 */
function standing(snapshot: ClusterSnapshot, { member, reason }: Removal): Standing {
  switch (reason) {
    case "scale-down":
      if (isSurplusLearner(snapshot, member)) return "holds";
      if (surplusVoter(snapshot)?.id !== member.id) return "gone";
      return whyScaleDownHeld(snapshot, member.name) === undefined ? "holds" : "gone";
    case "never-started":
      if (!member.data.neverRan) return "gone";
      return isJoining(member) ? "holds" : lostStanding(snapshot, member);
    case "never-voted":
      return member.data.neverVoted ? "holds" : "gone";
    default:
      return isJoining(member) ? "holds" : lostStanding(snapshot, member);
  }
}

function lostStanding(snapshot: ClusterSnapshot, member: KnownMember): Standing {
  if (member.participatesInQuorum || member.isVouchedFor) return "gone";
  if (isNeverReplaced(snapshot, member)) return "gone";
  return votersToReplace(snapshot).some(({ id }) => id === member.id) ? "holds" : "unsure";
}

function withdrawal({ peer }: Removal, because: string): Proposed<ClusterStep> {
  return step(because, { do: "markRemoval", peer, removal: undefined });
}
