import { fencedPeer } from "#cluster/desired/peer.ts";
import { type KnownMember, knownMembers } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** A member whose EtcdPeer is gone gets it back, fenced: it returns with the data on its claim or not at all. */
export const restorePeer: ClusterRule = {
  name: "restore-peer",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const missing = knownMembers(snapshot).find((member) => mayReturn(snapshot, member));
    if (identity === undefined || missing === undefined) return undefined;
    const because = `member ${missing.name} has no EtcdPeer`;
    return step("restore-peer", because, { do: "createPeer", peer: fencedPeer(snapshot, identity, missing.name) });
  },
};

function mayReturn(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const forming = identityOf(snapshot)?.initialMembers.find(({ name, id }) => name === member.name && id === member.id);
  const hasJoined = forming?.joined ?? (member.hasStarted || mayHaveVote(snapshot, member));
  return member.isOurs && hasJoined && peerNamed(snapshot, member.name) === undefined;
}

/** While etcd cannot be asked, a recorded learner may have its vote by now; if it has a claim, it may be what the quorum lacks. */
function mayHaveVote({ members, claims }: ClusterSnapshot, { name }: KnownMember): boolean {
  return members.is !== "present" && claims.some(({ metadata }) => metadata.name === name);
}
