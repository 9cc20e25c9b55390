import { isInSync, ownJoining } from "#cluster/members/learners.ts";
import { idOf, isFenced } from "#cluster/members/members.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";
import { isOverdue } from "./give-up-learner.ts";

/** Promotes a learner that has caught up, unless its removal is recorded. */
export const promoteLearner: ClusterRule = {
  name: "promote-learner",
  decide(snapshot) {
    for (const learner of ownJoining(snapshot)) {
      if (!learner.isLearner || learner.removal !== undefined || !isInSync(snapshot, learner)) continue;
      // A learner that cannot be fenced in time is removed like any other that is overdue.
      if (!isFenced(snapshot, learner.name) && isOverdue(snapshot, learner)) continue;
      return step(`${learner.name} has caught up with the leader`, {
        do: "promote",
        name: learner.name,
        id: idOf(learner),
      });
    }
    return undefined;
  },
};
