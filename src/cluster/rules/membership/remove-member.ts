import { REMOVAL_ANNOTATION, type Removal as Reason } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { whyHeldTogether } from "#cluster/dying-claims.ts";
import { heirOf } from "#cluster/heir.ts";
import { neverRan, ownArriving } from "#cluster/learners.ts";
import { idOf, type KnownMember, knownMembers, leaderOf, takesPart } from "#cluster/members.ts";
import { givenUp, isKept, isVouchedFor } from "#cluster/patience.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { isSurplusLearner, surplusVoter } from "#cluster/surplus.ts";
import { type Proposal, step, wait } from "#runtime/decide.ts";

interface Removal {
  readonly member: KnownMember;
  readonly peer: EtcdPeer;
  readonly reason: Reason;
}

/** Whether what led to the removal still holds. `unsure`: it did, and this process has not seen enough of it yet. */
type Standing = "holds" | "unsure" | "gone";

/** How soon to look again at a member that may be well, in milliseconds. */
const UNSURE_RECHECK_MS = 2_000;

/**
 * A removal that is on record is carried out: first the leadership moves, then the member goes. The record is taken back when its
 * reason has gone, or when there are two: a write whose reply was lost may have left a second one, and each would wait for the other.
 */
export const removeMember: ClusterRule = {
  name: "remove-member",
  decide(snapshot) {
    const removals = recorded(snapshot);
    const unwanted = removals.find((removal) => standing(snapshot, removal) === "gone");
    if (unwanted !== undefined) {
      const { name } = unwanted.member;
      if (unwanted.reason === "scale-down") return takenBack(unwanted, `${name} need not go any more`);
      const isLost = isKept(snapshot, unwanted.member) && !takesPart(snapshot, unwanted.member);
      const why = isLost ? "is not replaced any more: spec.replacement.after is Never" : "is well, or may be";
      return takenBack(unwanted, `${name} ${why}`);
    }
    const [first, second] = arrivingFirst(snapshot, removals);
    if (first === undefined) return undefined;
    if (second !== undefined && !isArriving(snapshot, first.member))
      return takenBack(second, `${first.member.name} goes before ${second.member.name}`);
    const { member, reason } = first;
    if (standing(snapshot, first) === "unsure") {
      const because = `${member.name} was given up (${reason}), and is looked at anew before it is removed`;
      return wait("remove-member", because, UNSURE_RECHECK_MS);
    }
    const heir = heirOf(snapshot, member);
    // Only the leader itself can be asked to hand the lead over. When it gives no answer, the others remove it all the same.
    const answers = snapshot.endpoints.get(member.name)?.is === "present";
    if (leaderOf(snapshot)?.id === member.id && answers && heir !== undefined) {
      const because = `${member.name} leads and is about to be removed; ${heir.name} takes over`;
      return step("remove-member", because, { do: "moveLeader", from: member.name, to: heir.name, id: idOf(heir) });
    }
    const because = `${member.name} is removed: ${reason}`;
    return step("remove-member", because, { do: "removeMember", name: member.name, id: idOf(member) });
  },
};

/** Whoever has no vote yet goes first: that is safe at any time, and whoever else is leaving waits for it. */
function arrivingFirst(snapshot: ClusterSnapshot, removals: readonly Removal[]): readonly Removal[] {
  const [coming = [], others = []] = [true, false].map((is) =>
    removals.filter(({ member }) => isArriving(snapshot, member) === is),
  );
  return [...coming, ...others];
}

function isArriving(snapshot: ClusterSnapshot, { id }: KnownMember): boolean {
  return ownArriving(snapshot).some((member) => member.id === id);
}

function recorded(snapshot: ClusterSnapshot): readonly Removal[] {
  return knownMembers(snapshot).flatMap((member) => {
    const peer = peerNamed(snapshot, member.name);
    const reason = peer?.metadata.annotations?.[REMOVAL_ANNOTATION] as Reason | undefined;
    return peer === undefined || reason === undefined ? [] : [{ member, peer, reason }];
  });
}

/** A lost member is not removed on the word of an earlier process: this one must have found it lost for just as long. */
function standing(snapshot: ClusterSnapshot, { member, reason }: Removal): Standing {
  switch (reason) {
    case "scale-down":
      if (isSurplusLearner(snapshot, member)) return "holds";
      if (surplusVoter(snapshot)?.id !== member.id) return "gone";
      return whyHeldTogether(snapshot, member.name) === undefined ? "holds" : "gone";
    case "never-started":
      if (!neverRan(snapshot, member)) return "gone";
      return isArriving(snapshot, member) ? "holds" : lostStanding(snapshot, member);
    default:
      return isArriving(snapshot, member) ? "holds" : lostStanding(snapshot, member);
  }
}

function lostStanding(snapshot: ClusterSnapshot, member: KnownMember): Standing {
  if (takesPart(snapshot, member) || isVouchedFor(snapshot, member)) return "gone";
  if (isKept(snapshot, member)) return "gone";
  return givenUp(snapshot).some(({ id }) => id === member.id) ? "holds" : "unsure";
}

function takenBack({ peer }: Removal, because: string): Proposal<ClusterStep> {
  return step("remove-member", because, { do: "markRemoval", peer, removal: undefined });
}
