import { joiningPeer } from "#cluster/desired/peer.ts";
import { ownArriving } from "#cluster/learners.ts";
import { identityOf, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** A member that was added and never started, and whose EtcdPeer is gone, gets it back, with the means to join. */
export const restoreLearner: ClusterRule = {
  name: "restore-learner",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const missing = ownArriving(snapshot).find(
      (member) => !member.hasStarted && peerNamed(snapshot, member.name) === undefined,
    );
    if (identity === undefined || missing === undefined) return undefined;
    const because = `member ${missing.name} was added, but has no EtcdPeer`;
    return step("restore-learner", because, {
      do: "createPeer",
      peer: joiningPeer(snapshot, identity, missing.name, missing.id),
    });
  },
};
