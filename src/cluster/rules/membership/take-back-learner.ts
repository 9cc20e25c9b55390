import { ownArriving } from "#cluster/learners.ts";
import { isLeaving, ownVoters } from "#cluster/members.ts";
import { peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { isSurplusLearner } from "#cluster/surplus.ts";
import { step } from "#runtime/decide.ts";

/** A member that was asked for, and is not wanted any more before it has its vote, need not arrive at all. */
export const takeBackLearner: ClusterRule = {
  name: "take-back-learner",
  decide(snapshot) {
    const learner = ownArriving(snapshot).find((member) => isSurplusLearner(snapshot, member));
    const peer = learner === undefined ? undefined : peerNamed(snapshot, learner.name);
    if (learner === undefined || peer === undefined) return undefined;
    if (isLeaving(snapshot, learner.name)) return undefined; // remove-member goes on with it
    const because = `${snapshot.cluster.spec.replicas} members are wanted and there are ${ownVoters(snapshot).length} without ${learner.name}`;
    return step("take-back-learner", because, { do: "markRemoval", peer, removal: "scale-down" });
  },
};
