import { isDying } from "#cluster/dying-claims.ts";
import { isHealthy, type KnownMember, ownVoters, takesPart } from "#cluster/members.ts";
import { isVouchedFor } from "#cluster/patience.ts";
import { byOrdinal, type ClusterSnapshot } from "#cluster/snapshot.ts";

/**
 * Who goes when there are more voters than are wanted: the sick first, then those whose data goes with their pods because somebody has deleted
 * the claims, then those that do not serve clients, then the highest ordinal. Members that a person added are neither counted nor chosen. `undefined` when nobody has to go.
 */
export function surplusVoter(snapshot: ClusterSnapshot): KnownMember | undefined {
  const voters = ownVoters(snapshot);
  if (voters.length <= snapshot.cluster.spec.replicas) return undefined;
  const order = byOrdinal(snapshot);
  return [...voters].sort((a, b) => worth(snapshot, a) - worth(snapshot, b) || order(b.name, a.name))[0];
}

/** Whoever only the operator cannot reach is neither sick nor idle. */
const WORST_FIRST: readonly ((snapshot: ClusterSnapshot, member: KnownMember) => boolean)[] = [
  (snapshot, member) => !takesPart(snapshot, member) && !isVouchedFor(snapshot, member),
  isDying,
  (snapshot, member) => takesPart(snapshot, member) && !isHealthy(snapshot, member),
];

/** Who is worth least goes first. */
function worth(snapshot: ClusterSnapshot, member: KnownMember): number {
  const fault = WORST_FIRST.findIndex((is) => is(snapshot, member));
  return fault === -1 ? WORST_FIRST.length : fault;
}

/** Whether the learner is on its way for nothing, because there are as many voters as are wanted without it. */
export function isSurplusLearner(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return member.isLearner && ownVoters(snapshot).length >= snapshot.cluster.spec.replicas;
}
