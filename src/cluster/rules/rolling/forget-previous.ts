import { revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { settledPeer } from "#cluster/desired/peer.ts";
import { whyUnfit } from "#cluster/fitness.ts";
import { memberNamed } from "#cluster/members.ts";
import { hasTurn, templateOf } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * A member that is well with what it got has nothing to go back to any more. What it had before would else be given to it years later, when its
 * next pod is late: a quota below what it has by then, a release or an image that nobody has any more.
 */
export const forgetPrevious: ClusterRule = {
  name: "forget-previous",
  decide(snapshot) {
    const live = snapshot.peers.find((peer) => peer.spec.previous !== undefined && isSettled(snapshot, peer));
    if (live === undefined) return undefined;
    const because = `${live.metadata.name} is well with what it got, and does not go back`;
    return step("forget-previous", because, { do: "replacePeer", live, peer: settledPeer(live) });
  },
};

/** Whether it is fit with what its EtcdPeer says; of the update under way only once it is on record that somebody has been. */
function isSettled(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  const member = memberNamed(snapshot, peer.metadata.name);
  const { update } = snapshot.cluster.status ?? {};
  const isToldOf = update?.revision !== revisionOf(templateOf(peer)) || update.proven;
  return member !== undefined && isToldOf && !hasTurn(snapshot, peer) && whyUnfit(snapshot, member) === undefined;
}
