import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { fencedPeer } from "#cluster/desired/peer.ts";
import { memberNamed, takesPart } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** A member that has joined loses the means to bootstrap. Its process is not touched: only what its next start reads changes. */
export const fence: ClusterRule = {
  name: "fence",
  holds: true,
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const live = snapshot.peers.find((peer) => peer.spec.bootstrap !== undefined && hasJoined(snapshot, peer));
    if (identity === undefined || live === undefined) return undefined;
    const { name } = live.metadata;
    const because = `${name} has joined and must never bootstrap again`;
    return step("fence", because, { do: "replacePeer", live, peer: fencedPeer(snapshot, identity, name) });
  },
};

/**
 * Whether a first member has joined is on record. A later one has joined when it has answered as who it is, or etcd lists it as
 * started. IDs are compared, since the name of a first member that has left may belong to another member, which has yet to join.
 */
function hasJoined(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const initial = identityOf(snapshot)?.initialMembers.find(
    ({ name, id }) => name === metadata.name && id === spec.memberID,
  );
  if (initial !== undefined) return initial.joined;
  const member = memberNamed(snapshot, metadata.name);
  if (member === undefined || member.id !== spec.memberID || snapshot.members.is !== "present") return false;
  return member.hasStarted || takesPart(snapshot, member);
}
