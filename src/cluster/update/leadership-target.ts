import { type KnownMember, votersOf } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isUpdated } from "./wanted-template.ts";

/**
 * The voter that gets the leadership from a member that is removed or restarted. Healthy voters with the wanted
 * template come first, so that the leadership need not move again. Then the highest applied index, then the lowest
 * ordinal.
 */
export function leadershipTarget(snapshot: ClusterSnapshot, leaving: KnownMember): KnownMember | undefined {
  const able = votersOf(snapshot).flatMap((member) => {
    const { id, health } = member;
    if (id === leaving.id || health.is !== "healthy") return [];
    return [{ member, isUpdated: isUpdated(snapshot, member), index: health.status.raftAppliedIndex }];
  });
  return able.sort((a, b) => Number(b.isUpdated) - Number(a.isUpdated) || b.index - a.index)[0]?.member;
}
