import { REMOVAL_ANNOTATION } from "#api/names.ts";
import {
  arriving,
  health,
  idOf,
  type KnownMember,
  knownMembers,
  leaderOf,
  sick,
  surplusVoter,
  votersOf,
} from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/plan.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { step } from "#runtime/decide.ts";

/** Carries out a removal that is on record: first the leadership, then the member. Takes the record back when its reason has gone. */
export const removeMember: ClusterRule = {
  name: "remove-member",
  decide(snapshot) {
    for (const member of knownMembers(snapshot)) {
      const peer = peerNamed(snapshot, member.name);
      const removal = peer?.metadata.annotations?.[REMOVAL_ANNOTATION];
      if (peer === undefined || removal === undefined) continue;
      const wanted = removal === "scale-down" ? surplusVoter(snapshot)?.id === member.id : isLost(snapshot, member);
      if (!wanted) {
        const because =
          removal === "scale-down" ? `${member.name} need not go any more` : `${member.name} is healthy again`;
        return step("remove-member", because, { do: "markRemoval", peer, removal: undefined });
      }
      const heir = heirOf(snapshot, member);
      const leader = leaderOf(snapshot);
      if (leader?.id === member.id && heir !== undefined) {
        const because = `${member.name} leads and is about to be removed; ${heir.name} takes over`;
        return step("remove-member", because, { do: "moveLeader", from: member.name, to: heir.name, id: idOf(heir) });
      }
      const because = `${member.name} is removed: ${removal}`;
      return step("remove-member", because, { do: "removeMember", name: member.name, id: idOf(member) });
    }
    return undefined;
  },
};

/** Lost, or a learner that was given up. */
function isLost(snapshot: ClusterSnapshot, { id }: KnownMember): boolean {
  return [...sick(snapshot), ...arriving(snapshot)].some((member) => member.id === id);
}

/** The healthy voter that knows most, so that the least has to be sent; of equals the lowest ordinal. */
function heirOf(snapshot: ClusterSnapshot, leaving: KnownMember): KnownMember | undefined {
  const able = votersOf(snapshot).flatMap((member) => {
    const seen = health(snapshot, member);
    return member.id !== leaving.id && seen.is === "healthy" ? [{ member, index: seen.status.raftAppliedIndex }] : [];
  });
  return able.sort((a, b) => b.index - a.index)[0]?.member;
}
