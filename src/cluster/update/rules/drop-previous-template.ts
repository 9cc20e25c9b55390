import { revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { settledPeer } from "#cluster/members/desired/peer.ts";
import { memberNamed } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { hasPendingRestart } from "#cluster/update/pending-restart.ts";
import { templateOf } from "#cluster/update/wanted-template.ts";
import { step } from "#runtime/decide.ts";

/**
 * Drops the previous template of a member that works with its new one. A rollback years later could otherwise use a
 * quota that is too small or an image that no longer exists.
 */
export const dropPreviousTemplate: ClusterRule = {
  name: "drop-previous-template",
  decide(snapshot) {
    const live = snapshot.peers.find((peer) => peer.spec.previous !== undefined && isSettled(snapshot, peer));
    if (live === undefined) return undefined;
    const because = `${live.metadata.name} works with its new template: the previous one is dropped`;
    return step(because, { do: "replacePeer", live, peer: settledPeer(live) });
  },
};

/**
 * Whether the member is fit with the template of its EtcdPeer. For the current update, `update.proven` must be recorded
 * first.
 */
function isSettled(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  const member = memberNamed(snapshot, peer.metadata.name);
  const { update } = snapshot.cluster.status ?? {};
  const isRecorded = update?.revision !== revisionOf(templateOf(peer)) || update.proven;
  return member !== undefined && isRecorded && !hasPendingRestart(snapshot, peer) && member.lacks.length === 0;
}
