import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { fencedPeer } from "#cluster/members/desired/peer.ts";
import { memberNamed } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Removes the means to bootstrap from a member that has joined. Its process continues: only what its next start reads
 * changes.
 */
export const fence: ClusterRule = {
  name: "fence",
  holds: true,
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const live = snapshot.peers.find((peer) => peer.spec.bootstrap !== undefined && hasJoined(snapshot, peer));
    if (identity === undefined || live === undefined) return undefined;
    const { name } = live.metadata;
    const because = `${name} has joined and must never bootstrap again`;
    return step(because, { do: "replacePeer", live, peer: fencedPeer(snapshot, identity, name) });
  },
};

/**
 * Whether the member has joined. For a first member it is recorded; a later one has answered with its ID, or etcd lists
 * it as started. IDs are compared, since a later member may have the name of a first member that left.
 */
function hasJoined(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const initial = identityOf(snapshot)?.initialMembers.find(
    ({ name, id }) => name === metadata.name && id === spec.memberID,
  );
  if (initial !== undefined) return initial.joined;
  const member = memberNamed(snapshot, metadata.name);
  if (member === undefined || member.id !== spec.memberID || snapshot.members.is !== "present") return false;
  return member.hasStarted || member.participatesInQuorum;
}
