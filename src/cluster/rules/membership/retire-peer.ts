import { CLEANUP_FINALIZER, QUARANTINE_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import { knownMembers } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { type Proposal, step } from "#runtime/decide.ts";

// What becomes of the claim of a member that etcd no longer lists?
//   Someone asked for fewer members: it goes. Every other reason (lost, replaced, removed with etcdctl behind our back): it is
//   put aside and kept. The finalizer says which, and is put on before the peer is deleted, so that a crash between the two
//   cannot make the one into the other.

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
function isSurplus(snapshot: ClusterSnapshot, { spec }: EtcdPeer): boolean {
  return spec.memberID !== undefined && !knownMembers(snapshot).some(({ id }) => id === spec.memberID);
}

/** The next step on the way out. Also used for an intent that is given up. */
export function retire(peer: EtcdPeer, rule = "retire-peer"): Proposal<ClusterStep> {
  const { name, finalizers = [], annotations } = peer.metadata;
  const asked = annotations?.[REMOVAL_ANNOTATION] === "scale-down" || peer.spec.memberID === undefined;
  const finalizer = asked ? CLEANUP_FINALIZER : QUARANTINE_FINALIZER;
  const fate = asked ? "its claim goes with it" : "its claim is put aside and kept";
  if (![CLEANUP_FINALIZER, QUARANTINE_FINALIZER].some((known) => finalizers.includes(known))) {
    return step(rule, `${name} is not a member any more; ${fate}`, { do: "releaseClaim", peer, finalizer });
  }
  return step(rule, `${name} is not a member any more`, { do: "deletePeer", peer });
}
