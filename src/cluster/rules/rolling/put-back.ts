import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { trustingAs } from "#cluster/certificates/trusted.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import { firstPossible, possibleOne } from "#cluster/first-possible.ts";
import { ownVoters } from "#cluster/members.ts";
import { backTemplates, hasTurn, isOutdated, lastGood, nextTemplate, stoppedUpdate } from "#cluster/rolling.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { type Proposal, remark, step } from "#runtime/decide.ts";

/** The member that did not come up gets back what it ran before, and everybody learns why the update has stopped. */
export const putBack: ClusterRule = {
  name: "put-back",
  decide(snapshot) {
    const stopped = stoppedUpdate(snapshot);
    if (stopped === undefined) return undefined;
    // Who waits for a restart with something older would keep the other one from having its turn.
    const stale = snapshot.peers.filter((peer) => hasTurn(snapshot, peer) && isOutdated(snapshot, peer));
    const taken = possibleOne(
      snapshot,
      stale.map((live) => takingBack(snapshot, live)),
    );
    if (taken !== undefined) return taken;
    // What it had before may be gone, such as its Secrets. Everything below would wait for that, so it gets what others are well with.
    const back = (peers: readonly EtcdPeer[]) =>
      peers.flatMap((live) => backTemplates(snapshot, live).map((template) => givingBack(live, template)));
    const tried = triedInVain(snapshot, stopped.member).filter((live) => !stale.includes(live));
    const blamed = tried.filter(({ metadata }) => metadata.name === stopped.member);
    // Who was tried beside it may have its reasons to wait. The one that is blamed waits for none of them, nor does what comes below.
    const first = possibleOne(snapshot, back(tried)) ?? firstPossible(snapshot, back(blamed));
    if (first !== undefined) return first;
    return remark(
      "put-back",
      `the update has stopped, because ${stopped.member} did not come up: ${stopped.message}; it is tried anew once the spec is changed`,
    );
  },
};

function takingBack(snapshot: ClusterSnapshot, live: EtcdPeer): Proposal<ClusterStep> {
  const because = `${live.metadata.name} does not restart with what was asked for before, and keeps what it runs`;
  const peer = revisedPeer(live, nextTemplate(snapshot, live), undefined);
  return step("put-back", because, { do: "replacePeer", live, peer });
}

/** Who was blamed, and whoever was tried beside it and has not come up either: several of a cluster that has just formed may be. */
function triedInVain(snapshot: ClusterSnapshot, blamed: string): readonly EtcdPeer[] {
  const names = new Set([blamed, ...ownVoters(snapshot).map(({ name }) => name)]);
  const peers = [...names].flatMap((name) => peerNamed(snapshot, name) ?? []);
  return peers.filter((live) => isOutdated(snapshot, live));
}

function givingBack(live: EtcdPeer, template: MemberTemplate): Proposal<ClusterStep> {
  const good = lastGood(live);
  const isItsOwn = revisionOf(template) === revisionOf(trustingAs(good, template));
  const what = isItsOwn ? "gets back what it ran before" : "gets what others are well with";
  const because = `${live.metadata.name} did not come up, and ${what}: etcd ${template.version}`;
  return step("put-back", because, { do: "replacePeer", live, peer: revisedPeer(live, template, undefined) });
}
