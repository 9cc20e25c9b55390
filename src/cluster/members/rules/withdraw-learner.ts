import { ownJoining } from "#cluster/members/learners.ts";
import { ownVoters } from "#cluster/members/members.ts";
import { isSurplusLearner } from "#cluster/members/surplus.ts";
import { peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Removes a learner that is not needed any more, because `spec.replicas` was lowered before it became a voter. */
export const withdrawLearner: ClusterRule = {
  name: "withdraw-learner",
  decide(snapshot) {
    const learner = ownJoining(snapshot).find((member) => isSurplusLearner(snapshot, member));
    const peer = learner === undefined ? undefined : peerNamed(snapshot, learner.name);
    if (learner === undefined || peer === undefined) return undefined;
    if (learner.removal !== undefined) return undefined; // remove-member carries it out
    const because = `${snapshot.cluster.spec.replicas} members are wanted and there are ${ownVoters(snapshot).length} without ${learner.name}: it is removed`;
    return step(because, { do: "markRemoval", peer, removal: "scale-down" });
  },
};
