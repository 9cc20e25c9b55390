import { REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import {
  arriving,
  health,
  idOf,
  type KnownMember,
  knownMembers,
  leaderOf,
  surplusVoter,
  takesPart,
  votersOf,
} from "#cluster/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { type Proposal, step } from "#runtime/decide.ts";

interface Removal {
  readonly member: KnownMember;
  readonly peer: EtcdPeer;
  readonly reason: string;
}

/**
 * Carries out a removal that is on record: first the leadership, then the member. Takes the record back when its reason has
 * gone, or when it is one too many: a write whose reply was lost may have left two, and each would wait for the other.
 */
export const removeMember: ClusterRule = {
  name: "remove-member",
  decide(snapshot) {
    const removals = recorded(snapshot);
    const unwanted = removals.find((removal) => !isWanted(snapshot, removal));
    if (unwanted !== undefined) {
      const { name } = unwanted.member;
      return takenBack(
        unwanted,
        unwanted.reason === "scale-down" ? `${name} need not go any more` : `${name} is healthy again`,
      );
    }
    const [first, second] = removals;
    if (first === undefined) return undefined;
    if (second !== undefined) return takenBack(second, `${first.member.name} goes before ${second.member.name}`);
    const { member, reason } = first;
    const heir = heirOf(snapshot, member);
    if (leaderOf(snapshot)?.id === member.id && heir !== undefined) {
      const because = `${member.name} leads and is about to be removed; ${heir.name} takes over`;
      return step("remove-member", because, { do: "moveLeader", from: member.name, to: heir.name, id: idOf(heir) });
    }
    const because = `${member.name} is removed: ${reason}`;
    return step("remove-member", because, { do: "removeMember", name: member.name, id: idOf(member) });
  },
};

function recorded(snapshot: ClusterSnapshot): readonly Removal[] {
  return knownMembers(snapshot).flatMap((member) => {
    const peer = peerNamed(snapshot, member.name);
    const reason = peer?.metadata.annotations?.[REMOVAL_ANNOTATION];
    return peer === undefined || reason === undefined ? [] : [{ member, peer, reason }];
  });
}

function isWanted(snapshot: ClusterSnapshot, { member, reason }: Removal): boolean {
  return reason === "scale-down" ? surplusVoter(snapshot)?.id === member.id : isLost(snapshot, member);
}

function takenBack({ peer }: Removal, because: string): Proposal<ClusterStep> {
  return step("remove-member", because, { do: "markRemoval", peer, removal: undefined });
}

/** Lost, or a learner that was given up. */
function isLost(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return !takesPart(snapshot, member) || arriving(snapshot).some(({ id }) => id === member.id);
}

/** The healthy voter that knows most, so that the least has to be sent; of equals the lowest ordinal. */
function heirOf(snapshot: ClusterSnapshot, leaving: KnownMember): KnownMember | undefined {
  const able = votersOf(snapshot).flatMap((member) => {
    const seen = health(snapshot, member);
    return member.id !== leaving.id && seen.is === "healthy" ? [{ member, index: seen.status.raftAppliedIndex }] : [];
  });
  return able.sort((a, b) => b.index - a.index)[0]?.member;
}
