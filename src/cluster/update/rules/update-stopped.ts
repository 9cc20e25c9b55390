import { ETCD_CONTAINER } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { firstPossible } from "#cluster/first-possible.ts";
import { isWaking } from "#cluster/lifecycle/sleep.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import { runningRevision } from "#cluster/members/member-state.ts";
import { type KnownMember, mayBootstrap, memberNamed } from "#cluster/members/members.ts";
import { isDown } from "#cluster/members/standstill.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { canary } from "#cluster/update/canary.ts";
import { isOutdated, lastGood, nextTemplate } from "#cluster/update/next-template.ts";
import { wishText } from "#cluster/update/update-status.ts";
import { stoppedUpdate } from "#cluster/update/wanted-template.ts";
import { isStopped, isUnscheduled } from "#kube/pod.ts";
import { type Proposed, step } from "#runtime/decide.ts";

/**
 * How long a member must have been sick before its template is suspected, in milliseconds. A crashed container is
 * restarted within seconds, and a pod that is missing for so long was refused.
 */
const SICK_AFTER_MS = 10_000;

/**
 * Writes the next template at once to a member that is down: a restart costs nothing, and its template may be the
 * cause.
 * - Only one member tries a new template while there is a quorum: the canary. Without one, all may try.
 * - A waking member that only waits for a node or a volume keeps its template. Otherwise an upgrade would reach all
 *   members before the first one has started.
 */
export const updateStopped: ClusterRule = {
  name: "update-stopped",
  decide(snapshot) {
    const all = snapshot.peers.filter((peer) => mayUpdateNow(snapshot, peer) && isOutdated(snapshot, peer));
    return firstPossible(
      snapshot,
      all.map((live) => updateOf(snapshot, live)),
    );
  },
};

function updateOf(snapshot: ClusterSnapshot, live: EtcdPeer): Proposed<ClusterStep> {
  const { name } = live.metadata;
  const template = nextTemplate(snapshot, live);
  const wish = wishText(snapshot, template);
  const because = `${name} is down; its next pod runs etcd ${template.version}${wish}`;
  // A rollback records no previous template. A member that never ran has none that works, and records its own like all
  // others.
  const previous = stoppedUpdate(snapshot) === undefined ? lastGood(live) : undefined;
  return step(because, { do: "replacePeer", live, peer: revisedPeer(live, template, previous) });
}

/** Whether the EtcdPeer is that of a listed member, the member is down, and no other member is the canary. */
function mayUpdateNow(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const member = memberNamed(snapshot, metadata.name);
  if (metadata.deletionTimestamp !== undefined || member === undefined || member.id !== spec.memberID) return false;
  // An EtcdPeer with a `New` bootstrap section is not rewritten once its member may not bootstrap.
  if (spec.bootstrap?.initialClusterState === "New" && !mayBootstrap(snapshot, member)) return false;
  const pod = snapshot.pods.get(metadata.name);
  // A pod without a recorded revision would be mistaken for one with the new template.
  const isDownAndKnown = isDown(snapshot, metadata.name) && runningRevision(pod) !== undefined;
  if (pod !== undefined && !isDownAndKnown) return false;
  if (isWaking(snapshot) && (pod === undefined || !isStopped(pod, ETCD_CONTAINER) || isUnscheduled(pod))) return false;
  const isNew = !member.hasStarted && pod !== undefined;
  return isNew || (member.history.sickForMs >= SICK_AFTER_MS && !isOtherCanary(snapshot, member));
}

function isOtherCanary(snapshot: ClusterSnapshot, { id }: KnownMember): boolean {
  const tried = canary(snapshot);
  return snapshot.members.is === "present" && tried !== undefined && tried.id !== id;
}
