import { fencedPeer } from "#cluster/desired/peer.ts";
import type { ClusterRule } from "#cluster/plan.ts";
import { identityOf, knownMembers, peerNamed } from "#cluster/snapshot.ts";
import { step } from "#runtime/decide.ts";

/** A member whose EtcdPeer was deleted by hand gets it back, fenced: it returns with the data on its claim or not at all. */
export const restorePeer: ClusterRule = {
  name: "restore-peer",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const joined = new Set(identity?.initialMembers.filter((member) => member.joined).map((member) => member.name));
    const missing = knownMembers(snapshot).find(
      (member) => joined.has(member.name) && peerNamed(snapshot, member.name) === undefined,
    );
    if (identity === undefined || missing === undefined) return undefined;
    const because = `member ${missing.name} has lost its EtcdPeer`;
    return step("restore-peer", because, { do: "createPeer", peer: fencedPeer(snapshot, identity, missing.name) });
  },
};
