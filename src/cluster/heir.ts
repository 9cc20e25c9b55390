import { health, type KnownMember, votersOf } from "#cluster/members.ts";
import { isUpdated } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/**
 * Who takes the leadership over from a member that leaves or restarts: of the healthy voters one that runs what is wanted already, so that
 * it need not hand it on; of those the one that knows most, so that the least has to be sent; of equals the lowest ordinal.
 */
export function heirOf(snapshot: ClusterSnapshot, leaving: KnownMember): KnownMember | undefined {
  const able = votersOf(snapshot).flatMap((member) => {
    const seen = health(snapshot, member);
    if (member.id === leaving.id || seen.is !== "healthy") return [];
    return [{ member, isUpdated: isUpdated(snapshot, member), index: seen.status.raftAppliedIndex }];
  });
  return able.sort((a, b) => Number(b.isUpdated) - Number(a.isUpdated) || b.index - a.index)[0]?.member;
}
