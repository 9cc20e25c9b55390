import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { ownVoters } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { Proposal } from "#runtime/decide.ts";

/**
 * The first of these that no guard forbids. Where all are forbidden, the first one, so that people are told why; but not where several members have
 * no quorum: then that is what they have to hear.
 */
export function firstPossible(
  snapshot: ClusterSnapshot,
  proposals: readonly Proposal<ClusterStep>[],
): Proposal<ClusterStep> | undefined {
  const possible = possibleOne(snapshot, proposals);
  const isTold = snapshot.members.is === "present" || ownVoters(snapshot).length === 1;
  return possible ?? (isTold ? proposals[0] : undefined);
}

/** The first of these that no guard forbids. */
export function possibleOne(
  snapshot: ClusterSnapshot,
  proposals: readonly Proposal<ClusterStep>[],
): Proposal<ClusterStep> | undefined {
  return proposals.find(({ step }) => CLUSTER_GUARDS.every((guard) => guard.forbids(snapshot, step) === undefined));
}
