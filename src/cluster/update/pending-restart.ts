import { revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { runningRevision } from "#cluster/members/member-state.ts";
import { type KnownMember, memberNamed } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { lacksOnly } from "./fitness.ts";
import { stoppedUpdate, templateOf, wantedRevision } from "./wanted-template.ts";

/** Whether a restart is pending: the pod was made from another template than the one in the EtcdPeer. */
export function hasPendingRestart(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  const pod = snapshot.pods.get(peer.metadata.name);
  const running = runningRevision(pod);
  if (pod?.metadata.deletionTimestamp !== undefined || running === undefined) return false;
  return running !== revisionOf(templateOf(peer));
}

/**
 * Whether the pending restart waits until a person deletes the pod. The operator restarts members that it rolls back,
 * or that never ran, without waiting.
 */
export function awaitsManualRestart(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  if (!isOnDelete(snapshot) || !hasPendingRestart(snapshot, peer)) return false;
  const hasNeverRun = memberNamed(snapshot, peer.metadata.name)?.hasStarted === false;
  const isPutBack = stoppedUpdate(snapshot) !== undefined && !hasFailedTemplate(snapshot, peer);
  return !hasNeverRun && !isPutBack;
}

/** Whether people, not the operator, restart members for an update. */
export function isOnDelete({ cluster }: ClusterSnapshot): boolean {
  return cluster.spec.updateStrategy.type === "OnDelete";
}

/** Whether the operator restarts the member as soon as possible. No member restarts with a template that failed. */
export function isAboutToRestart(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  return (
    hasPendingRestart(snapshot, peer) && !awaitsManualRestart(snapshot, peer) && !hasFailedTemplate(snapshot, peer)
  );
}

function hasFailedTemplate(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  return stoppedUpdate(snapshot) !== undefined && revisionOf(templateOf(peer)) === wantedRevision(snapshot);
}

/** Whether the next pod gets the template of the EtcdPeer: the EtcdPeer controller has written it to the ReplicaSet. */
export function isTemplateReady(peer: EtcdPeer): boolean {
  return peer.status?.revision === revisionOf(templateOf(peer));
}

/**
 * Whether a restart with the new template may repair the member. A container beside etcd has been not Ready for
 * `memberTimeoutMs`, and the pod has an old template. Other members do not wait for it, because it is in the quorum.
 */
export function mayBeFixedByRestart(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const isLate = member.history.unreadyForMs >= snapshot.memberTimeoutMs;
  return isLate && member.template.revision !== wantedRevision(snapshot) && lacksOnly(member, "sidecarReadiness");
}
