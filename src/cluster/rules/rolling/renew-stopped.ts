import { ETCD_CONTAINER } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import { firstPossible } from "#cluster/first-possible.ts";
import { type KnownMember, mayBootstrap, memberNamed } from "#cluster/members.ts";
import { sickForMs } from "#cluster/patience.ts";
import { canary, isOutdated, lastGood, nextTemplate, stoppedUpdate } from "#cluster/rolling.ts";
import { isWaking } from "#cluster/sleep.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isDown } from "#cluster/standstill.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { wishText } from "#cluster/update-status.ts";
import { runningRevision } from "#cluster/versions.ts";
import { isStopped, isUnscheduled } from "#kube/pod.ts";
import { type Proposal, step } from "#runtime/decide.ts";

/**
 * How long a member must have been sick before what it has is taken for what ails it, in milliseconds. A container that ends now and then
 * is started again in moments, and a pod that is not made for so long is refused by somebody.
 */
const AILS_AFTER_MS = 10_000;

/**
 * A member that does not run, or the only one when it hangs, gets what it is to run next at once: nobody loses anything by it, and what it
 * has may be what ails it. While there is a quorum it is the canary, and nobody else is tried beside it; without one all of them may as
 * well be tried at the same time. In a cluster that wakes up, whoever merely waits for a node or a volume starts with what it ran: else an
 * upgrade would reach all of them before anybody is awake.
 */
export const renewStopped: ClusterRule = {
  name: "renew-stopped",
  decide(snapshot) {
    const all = snapshot.peers.filter((peer) => isRenewable(snapshot, peer) && isOutdated(snapshot, peer));
    return firstPossible(
      snapshot,
      all.map((live) => renewal(snapshot, live)),
    );
  },
};

function renewal(snapshot: ClusterSnapshot, live: EtcdPeer): Proposal<ClusterStep> {
  const { name } = live.metadata;
  const template = nextTemplate(snapshot, live);
  const wish = wishText(snapshot, template);
  const because = `${name} does not do its work; its next pod is to be etcd ${template.version}${wish}`;
  // Who goes back does not go forth again. Who has never run has been well with nothing, and is tried as all others are.
  const previous = stoppedUpdate(snapshot) === undefined ? lastGood(live) : undefined;
  return step("renew-stopped", because, { do: "replacePeer", live, peer: revisedPeer(live, template, previous) });
}

/** Whether it is a member's, nothing runs of that member, and nobody else is on trial. */
function isRenewable(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const member = memberNamed(snapshot, metadata.name);
  if (metadata.deletionTimestamp !== undefined || member === undefined || member.id !== spec.memberID) return false;
  // One that is told how to form a cluster is not written any more once it may not.
  if (spec.bootstrap?.initialClusterState === "New" && !mayBootstrap(snapshot, member)) return false;
  const pod = snapshot.pods.get(metadata.name);
  // A pod of an earlier release first has to say what it was made from: else it would be taken for what it is to become.
  const isDownAndKnown = isDown(snapshot, metadata.name) && runningRevision(pod) !== undefined;
  if (pod !== undefined && !isDownAndKnown) return false;
  if (isWaking(snapshot) && (pod === undefined || !isStopped(pod, ETCD_CONTAINER) || isUnscheduled(pod))) return false;
  const isNew = !member.hasStarted && pod !== undefined;
  return isNew || (sickForMs(snapshot, member) >= AILS_AFTER_MS && !isOtherOnTrial(snapshot, member));
}

function isOtherOnTrial(snapshot: ClusterSnapshot, { id }: KnownMember): boolean {
  const tried = canary(snapshot);
  return snapshot.members.is === "present" && tried !== undefined && tried.id !== id;
}
