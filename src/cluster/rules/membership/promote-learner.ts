import { isInSync, ownArriving } from "#cluster/learners.ts";
import { idOf, isFenced, isLeaving } from "#cluster/members.ts";
import { isOverdue } from "#cluster/rules/membership/give-up-learner.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** A learner that has caught up gets its vote, unless it is on its way out. */
export const promoteLearner: ClusterRule = {
  name: "promote-learner",
  decide(snapshot) {
    for (const learner of ownArriving(snapshot)) {
      if (!learner.isLearner || isLeaving(snapshot, learner.name) || !isInSync(snapshot, learner)) continue;
      // Whoever cannot be fenced is not waited for forever: it is given up like any other that takes too long.
      if (!isFenced(snapshot, learner.name) && isOverdue(snapshot, learner)) continue;
      return step("promote-learner", `${learner.name} has caught up with the leader`, {
        do: "promote",
        name: learner.name,
        id: idOf(learner),
      });
    }
    return undefined;
  },
};
