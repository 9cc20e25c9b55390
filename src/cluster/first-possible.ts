import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { forbiddenBy, type Opinion, type Proposal, remark } from "#runtime/decide.ts";

/** The first of these that no guard forbids. Where all are forbidden, people are told why the first one is, and the rules below speak: that may be what helps. */
export function firstPossible(
  snapshot: ClusterSnapshot,
  proposals: readonly Proposal<ClusterStep>[],
): Opinion<ClusterStep> | undefined {
  const [first] = proposals;
  if (first === undefined) return undefined;
  const held = () => remark(first.rule, `${first.because}; that is held back: ${whyForbidden(snapshot, first)}`);
  return possibleOne(snapshot, proposals) ?? held();
}

/** The first of these that no guard forbids. */
export function possibleOne(
  snapshot: ClusterSnapshot,
  proposals: readonly Proposal<ClusterStep>[],
): Proposal<ClusterStep> | undefined {
  return proposals.find((proposal) => whyForbidden(snapshot, proposal) === undefined);
}

function whyForbidden(snapshot: ClusterSnapshot, { step }: Proposal<ClusterStep>): string | undefined {
  return forbiddenBy(CLUSTER_GUARDS, snapshot, step)?.why;
}
