import { arriving, health, idOf, type KnownMember, leaderOf } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** How much of the leader's log a learner must have: etcd's own measure, so that it does not have to refuse (readyPercentThreshold in server/etcdserver/server.go). */
const IN_SYNC = 0.9;

/** A learner that has caught up gets its vote. */
export const promoteLearner: ClusterRule = {
  name: "promote-learner",
  decide(snapshot) {
    for (const learner of arriving(snapshot)) {
      if (!learner.isLearner || !isInSync(snapshot, learner)) continue;
      return step("promote-learner", `${learner.name} has caught up with the leader`, {
        do: "promote",
        name: learner.name,
        id: idOf(learner),
      });
    }
    return undefined;
  },
};

/**
 * A learner that does not serve clients yet has passed etcd's health check: it has applied all that was committed. It must have
 * told its name besides: a voter without a name would be taken for one that has yet to start.
 */
function isInSync(snapshot: ClusterSnapshot, learner: KnownMember): boolean {
  const seen = health(snapshot, learner);
  if (seen.is !== "healthy") return seen.is === "unpublished" && learner.hasStarted;
  const leader = leaderOf(snapshot);
  const led = leader === undefined ? undefined : health(snapshot, leader);
  return led?.is === "healthy" && seen.status.raftAppliedIndex >= led.status.raftIndex * IN_SYNC;
}
