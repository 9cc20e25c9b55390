import { fencedPeer } from "#cluster/desired/peer.ts";
import type { ClusterRule } from "#cluster/plan.ts";
import { identityOf } from "#cluster/snapshot.ts";
import { step } from "#runtime/decide.ts";

/** Takes the means to bootstrap away from a member that has joined. Its running pod is not touched: only the next one's flags change. */
export const fence: ClusterRule = {
  name: "fence",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const joined = new Set(identity?.initialMembers.filter((member) => member.joined).map((member) => member.name));
    const live = snapshot.peers.find((peer) => peer.spec.bootstrap !== undefined && joined.has(peer.metadata.name));
    if (identity === undefined || live === undefined) return undefined;
    const { name } = live.metadata;
    const because = `${name} has joined and must never bootstrap again`;
    return step("fence", because, { do: "replacePeer", live, peer: fencedPeer(snapshot, identity, name) });
  },
};
