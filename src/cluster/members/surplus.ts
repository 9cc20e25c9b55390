import { byOrdinal, type ClusterSnapshot } from "#cluster/snapshot.ts";
import { hasDyingClaim } from "./dying-claims.ts";
import { type KnownMember, ownVoters } from "./members.ts";

/**
 * The voter to remove when there are more than `spec.replicas`; `undefined` when there are not. Order: sick voters,
 * those with claims that are being deleted, those that do not serve clients, then the highest ordinal. Members that
 * were added by hand are neither counted nor chosen.
 */
export function surplusVoter(snapshot: ClusterSnapshot): KnownMember | undefined {
  const voters = ownVoters(snapshot);
  if (voters.length <= snapshot.cluster.spec.replicas) return undefined;
  const order = byOrdinal(snapshot);
  return [...voters].sort((a, b) => removalRank(snapshot, a) - removalRank(snapshot, b) || order(b.name, a.name))[0];
}

/** A member that only the operator cannot reach is neither sick nor idle. */
const WORST_FIRST: readonly ((snapshot: ClusterSnapshot, member: KnownMember) => boolean)[] = [
  (_, member) => !member.participatesInQuorum && !member.isVouchedFor,
  hasDyingClaim,
  (_, member) => member.participatesInQuorum && member.health.is !== "healthy",
];

/** The lowest rank is removed first. */
function removalRank(snapshot: ClusterSnapshot, member: KnownMember): number {
  const fault = WORST_FIRST.findIndex((is) => is(snapshot, member));
  return fault === -1 ? WORST_FIRST.length : fault;
}

/** Whether the learner is not needed: there are enough voters without it. */
export function isSurplusLearner(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return member.isLearner && ownVoters(snapshot).length >= snapshot.cluster.spec.replicas;
}
