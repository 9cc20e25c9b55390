import { CLEANUP_FINALIZER, isClaimGoing, QUARANTINE_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { memberById } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { type Proposal, step } from "#runtime/decide.ts";

// What becomes of the claim of a member that etcd no longer lists?
//   Someone asked for fewer members, or no etcd ever ran on it: it goes. Every other reason (lost, replaced, removed with etcdctl
//   behind our back): it is put aside and kept. The finalizer says which, and is put on before the peer is deleted, so that a
//   crash between the two cannot make the one into the other.
// And of the claim of a member that was only intended?
//   There is none: nothing of it was started. So its EtcdPeer goes without a finalizer. None that carries one is ever resumed.

/** The EtcdPeer of a member that etcd no longer lists goes, and says first what is to become of its claim. */
export const retirePeer: ClusterRule = {
  name: "retire-peer",
  decide(snapshot) {
    const peer = snapshot.peers.find(
      (each) => each.metadata.deletionTimestamp === undefined && isSurplus(snapshot, each),
    );
    return peer === undefined ? undefined : retire(peer);
  },
};

/** By ID: a member that was removed and added again under its old URL is another member. */
function isSurplus(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  if (spec.memberID === undefined) return hasRelease(metadata.finalizers);
  return memberById(snapshot, spec.memberID) === undefined;
}

/** The next step on the way out. Also used for an intent that is given up. */
export function retire(peer: EtcdPeer, rule = "retire-peer"): Proposal<ClusterStep> {
  const { name, finalizers, annotations } = peer.metadata;
  if (peer.spec.memberID === undefined) return step(rule, `${name} need not join any more`, { do: "deletePeer", peer });
  const isGoing = isClaimGoing(annotations?.[REMOVAL_ANNOTATION]);
  const finalizer = isGoing ? CLEANUP_FINALIZER : QUARANTINE_FINALIZER;
  const fate = isGoing ? "its claim goes with it" : "its claim is put aside and kept";
  if (!hasRelease(finalizers))
    return step(rule, `${name} is not a member any more; ${fate}`, { do: "releaseClaim", peer, finalizer });
  return step(rule, `${name} is not a member any more`, { do: "deletePeer", peer });
}

/** Whether it says already what is to become of its claim. */
export function hasRelease(finalizers: readonly string[] = []): boolean {
  return [CLEANUP_FINALIZER, QUARANTINE_FINALIZER].some((known) => finalizers.includes(known));
}
