import { joiningMembers } from "#cluster/members/learners.ts";
import { idOf, intendedPeers, type KnownMember, leaderOf, ownVoters } from "#cluster/members/members.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { FIRST_STRICT } from "#cluster/update/version-path.ts";
import { isOlderMinor, isRelease } from "#etcd/version.ts";
import { step } from "#runtime/decide.ts";

/**
 * Moves the leadership to a member of etcd 3.7 before a new member joins. A leader of 3.6 keeps some thousand entries
 * in memory, even after a snapshot. It would send entries of etcd 3.5, which etcd 3.7 cannot read.
 */
export const moveLeaderToNewest: ClusterRule = {
  name: "move-leader-to-newest",
  decide(snapshot) {
    const joining = joiningMembers(snapshot)[0]?.name ?? intendedPeers(snapshot)[0]?.metadata.name;
    const leader = leaderOf(snapshot);
    if (joining === undefined || leader === undefined || runsStrict(leader) !== false) return undefined;
    const successor = ownVoters(snapshot).find((member) => runsStrict(member) === true);
    if (successor === undefined) return undefined;
    const because = `${joining} is joining and may not get raft entries of etcd 3.5 from ${leader.name}, which leads with etcd 3.6; ${successor.name} takes over`;
    return step(because, {
      do: "moveLeader",
      from: leader.name,
      to: successor.name,
      id: idOf(successor),
    });
  },
};

/** Whether the member runs a release that cannot read entries of etcd 3.5; `undefined` when its release is unknown. */
function runsStrict({ health }: KnownMember): boolean | undefined {
  if (health.is !== "healthy" || !isRelease(health.status.version)) return undefined;
  return !isOlderMinor(health.status.version, FIRST_STRICT);
}
