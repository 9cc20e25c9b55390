import { joiningPeer } from "#cluster/members/desired/peer.ts";
import { ownJoining } from "#cluster/members/learners.ts";
import { identityOf, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Recreates the missing EtcdPeer of a member that was added and never started, so that it can join. */
export const recreateLearner: ClusterRule = {
  name: "recreate-learner",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const missing = ownJoining(snapshot).find(
      (member) => !member.hasStarted && peerNamed(snapshot, member.name) === undefined,
    );
    if (identity === undefined || missing === undefined) return undefined;
    const because = `member ${missing.name} was added, but has no EtcdPeer`;
    return step(because, {
      do: "createPeer",
      peer: joiningPeer(snapshot, identity, missing.name, missing.id),
    });
  },
};
