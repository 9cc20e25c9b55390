import { CLEANUP_FINALIZER, isClaimGoing, QUARANTINE_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { memberById } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { type Opinion, step } from "#runtime/decide.ts";

// The claim of a member that etcd no longer lists:
// - It is deleted if `spec.replicas` was lowered or no etcd ever ran on it. For every other reason (lost, replaced,
//   removed with etcdctl) it is quarantined and kept.
// - A finalizer records which, before the EtcdPeer is deleted, so that a crash in between cannot change the outcome.
// - An intent has no claim, since nothing of it was started: its EtcdPeer is deleted without a finalizer. An EtcdPeer
//   with a finalizer is never resumed.

/** Deletes the EtcdPeer of a member that etcd no longer lists, after it records what happens to the claim. */
export const deletePeerOfRemoved: ClusterRule = {
  name: "delete-peer-of-removed",
  decide(snapshot) {
    const peer = snapshot.peers.find(
      (each) => each.metadata.deletionTimestamp === undefined && isSurplus(snapshot, each),
    );
    return peer === undefined ? undefined : retire(peer);
  },
};

/** Compared by ID: a member that was removed and added again under its old URL is a different one. */
function isSurplus(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  if (spec.memberID === undefined) return hasRelease(metadata.finalizers);
  return memberById(snapshot, spec.memberID) === undefined;
}

/** The next step to delete an EtcdPeer. Also used for an intent that is dropped. */
export function retire(peer: EtcdPeer): Opinion<ClusterStep> {
  const { name, finalizers, annotations } = peer.metadata;
  if (peer.spec.memberID === undefined) return step(`${name} no longer has to join`, { do: "deletePeer", peer });
  const isGoing = isClaimGoing(annotations?.[REMOVAL_ANNOTATION]);
  const finalizer = isGoing ? CLEANUP_FINALIZER : QUARANTINE_FINALIZER;
  const fate = isGoing ? "its claim is deleted with it" : "its claim is quarantined and kept";
  if (!hasRelease(finalizers))
    return step(`${name} is not a member any more; ${fate}`, { do: "releaseClaim", peer, finalizer });
  return step(`${name} is not a member any more`, { do: "deletePeer", peer });
}

/** Whether a finalizer records what happens to the claim. */
export function hasRelease(finalizers: readonly string[] = []): boolean {
  return [CLEANUP_FINALIZER, QUARANTINE_FINALIZER].some((known) => finalizers.includes(known));
}
