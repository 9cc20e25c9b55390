import { arriving, health, idOf, leaderOf } from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { step } from "#runtime/decide.ts";

/** How much of the leader's log a learner must have: etcd's own measure, so that it does not have to refuse (readyPercentThreshold in server/etcdserver/server.go). */
const IN_SYNC = 0.9;

/** A learner that has caught up gets its vote. */
export const promoteLearner: ClusterRule = {
  name: "promote-learner",
  decide(snapshot) {
    for (const learner of arriving(snapshot)) {
      const seen = health(snapshot, learner);
      if (!learner.isLearner || seen.is !== "healthy" || !isInSync(snapshot, seen.status)) continue;
      return step("promote-learner", `${learner.name} has caught up with the leader`, {
        do: "promote",
        name: learner.name,
        id: idOf(learner),
      });
    }
    return undefined;
  },
};

function isInSync(snapshot: ClusterSnapshot, learner: EndpointStatus): boolean {
  const leader = leaderOf(snapshot);
  const seen = leader === undefined ? undefined : health(snapshot, leader);
  return seen?.is === "healthy" && learner.raftAppliedIndex >= seen.status.raftIndex * IN_SYNC;
}
