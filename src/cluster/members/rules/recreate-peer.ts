import { possibleOne } from "#cluster/first-possible.ts";
import { fencedPeer } from "#cluster/members/desired/peer.ts";
import { mayHoldData } from "#cluster/members/listed-members.ts";
import { type KnownMember, knownMembers } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf, isForming, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Recreates the missing EtcdPeer of a member, fenced: it returns with the data on its claim or not at all. A blocked EtcdPeer does not block the others: they may form the quorum.
 */
export const recreatePeer: ClusterRule = {
  name: "recreate-peer",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    if (identity === undefined) return undefined;
    const all = knownMembers(snapshot)
      .filter((member) => mayReturn(snapshot, member))
      .map(({ name }) => {
        const peer = fencedPeer(snapshot, identity, name);
        return step(`member ${name} has no EtcdPeer`, { do: "createPeer", peer } as const);
      });
    // If guards forbid all, the first proposal reports the guard's reason and blocks the later rules.
    return possibleOne(snapshot, all) ?? all[0];
  },
};

function mayReturn(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  if (!member.isOurs || peerNamed(snapshot, member.name) !== undefined) return false;
  const founder = identityOf(snapshot)?.initialMembers.find(({ name, id }) => name === member.name && id === member.id);
  return (founder?.joined ?? member.hasStarted) || mayBeNeeded(snapshot, member);
}

/**
 * Whether the quorum may need the member while etcd cannot be asked. A recorded learner may have been promoted, and an
 * initial member may have run without a record: any with a volume counts. Until the cluster has formed, rule bootstrap
 * covers this.
 */
function mayBeNeeded(snapshot: ClusterSnapshot, { name }: KnownMember): boolean {
  if (snapshot.members.is === "present" || isForming(snapshot)) return false;
  return snapshot.claims.some((claim) => claim.metadata.name === name && mayHoldData(claim));
}
