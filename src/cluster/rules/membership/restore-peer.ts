import { fencedPeer } from "#cluster/desired/peer.ts";
import { type KnownMember, knownMembers, mayHoldData } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf, isForming, peerNamed } from "#cluster/snapshot.ts";
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
  if (!member.isOurs || peerNamed(snapshot, member.name) !== undefined) return false;
  const founder = identityOf(snapshot)?.initialMembers.find(({ name, id }) => name === member.name && id === member.id);
  return (founder?.joined ?? member.hasStarted) || mayBeNeeded(snapshot, member);
}

/**
 * While etcd cannot be asked, a recorded learner may have its vote by now, and a first member that is not on record as joined may have
 * run all the same: whoever has a volume may be what the quorum lacks. Until a cluster has formed, rule bootstrap sees to it.
 */
function mayBeNeeded(snapshot: ClusterSnapshot, { name }: KnownMember): boolean {
  if (snapshot.members.is === "present" || isForming(snapshot)) return false;
  return snapshot.claims.some((claim) => claim.metadata.name === name && mayHoldData(claim));
}
