import { fencedPeer } from "#cluster/desired/peer.ts";
import { isHealthy, memberNamed } from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/plan.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import { step } from "#runtime/decide.ts";

/** Takes the means to bootstrap away from a member that has joined. Its running pod is not touched: only the next one's flags change. */
export const fence: ClusterRule = {
  name: "fence",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const live = snapshot.peers.find(
      (peer) => peer.spec.bootstrap !== undefined && hasJoined(snapshot, peer.metadata.name),
    );
    if (identity === undefined || live === undefined) return undefined;
    const { name } = live.metadata;
    const because = `${name} has joined and must never bootstrap again`;
    return step("fence", because, { do: "replacePeer", live, peer: fencedPeer(snapshot, identity, name) });
  },
};

/** First members: by the record. Later ones: they have answered as who they are, or etcd lists them as started. */
function hasJoined(snapshot: ClusterSnapshot, name: string): boolean {
  const initial = identityOf(snapshot)?.initialMembers.find((member) => member.name === name);
  const member = memberNamed(snapshot, name);
  if (initial !== undefined && (member === undefined || member.id === initial.id)) return initial.joined;
  return (
    member !== undefined && snapshot.members.is === "present" && (member.hasStarted || isHealthy(snapshot, member))
  );
}
