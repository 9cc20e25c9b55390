import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import { fencedPeer } from "#cluster/desired/peer.ts";
import { memberNamed, takesPart } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Takes the means to bootstrap away from a member that has joined. Its running pod is not touched: only the next one's flags change. */
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
 * First members: by the record. Later ones: they have answered as who they are, or etcd lists them as started. By ID: the name
 * of a first member that has left may belong to another one by now, which has yet to join.
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
