import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { firstPossible, possibleOne } from "#cluster/first-possible.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import { ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { isOutdated, lastGood, nextTemplate, rollbackTemplates } from "#cluster/update/next-template.ts";
import { hasPendingRestart } from "#cluster/update/pending-restart.ts";
import { stoppedUpdate } from "#cluster/update/wanted-template.ts";
import { trustingAs } from "#cluster-tls/check/trusted.ts";
import { notice, type Proposed, step } from "#runtime/decide.ts";

/** Rolls back the member that did not become healthy, and reports why the update has stopped. */
export const rollBackMember: ClusterRule = {
  name: "roll-back-member",
  decide(snapshot) {
    const stopped = stoppedUpdate(snapshot);
    if (stopped === undefined) return undefined;
    // Outdated pending restarts are cancelled first: each would block the rollback.
    const stale = snapshot.peers.filter((peer) => hasPendingRestart(snapshot, peer) && isOutdated(snapshot, peer));
    const taken = possibleOne(
      snapshot,
      stale.map((live) => cancelRestart(snapshot, live)),
    );
    if (taken !== undefined) return taken;
    // The Secrets of the previous template may be gone, which would block all later rules. The template of a healthy
    // member is then used.
    const back = (peers: readonly EtcdPeer[]) =>
      peers.flatMap((live) => rollbackTemplates(snapshot, live).map((template) => rollBack(live, template)));
    const tried = failedMembers(snapshot, stopped.member).filter((live) => !stale.includes(live));
    const blamed = tried.filter(({ metadata }) => metadata.name === stopped.member);
    // The other failed members may be blocked. The blamed member waits for none of them, and neither do later rules.
    const first = possibleOne(snapshot, back(tried)) ?? firstPossible(snapshot, back(blamed));
    if (first !== undefined) return first;
    return notice(
      `the update has stopped, because ${stopped.member} did not come up: ${stopped.message}; to start another update, edit what members run, such as spec.version or spec.podTemplate`,
    );
  },
};

function cancelRestart(snapshot: ClusterSnapshot, live: EtcdPeer): Proposed<ClusterStep> {
  const because = `${live.metadata.name} does not restart with its outdated template, and keeps the one that it runs`;
  const peer = revisedPeer(live, nextTemplate(snapshot, live), undefined);
  return step(because, { do: "replacePeer", live, peer });
}

/**
 * The blamed member and all others that failed with the same template: a cluster that has just formed may have several.
 */
function failedMembers(snapshot: ClusterSnapshot, blamed: string): readonly EtcdPeer[] {
  const names = new Set([blamed, ...ownVoters(snapshot).map(({ name }) => name)]);
  const peers = [...names].flatMap((name) => peerNamed(snapshot, name) ?? []);
  return peers.filter((live) => isOutdated(snapshot, live));
}

function rollBack(live: EtcdPeer, template: MemberTemplate): Proposed<ClusterStep> {
  const good = lastGood(live);
  const isItsOwn = revisionOf(template) === revisionOf(trustingAs(good, template));
  const what = isItsOwn ? "is rolled back to its previous template" : "gets the template of a healthy member";
  const because = `${live.metadata.name} did not come up, and ${what}: etcd ${template.version}`;
  return step(because, { do: "replacePeer", live, peer: revisedPeer(live, template, undefined) });
}
