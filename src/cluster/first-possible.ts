import { forbiddenBy, notice, type Opinion, type Proposed } from "#runtime/decide.ts";
import { CLUSTER_GUARDS } from "./guards.ts";
import type { ClusterSnapshot } from "./snapshot.ts";
import type { ClusterStep } from "./step.ts";

/**
 * The first of these that no guard forbids. When all are forbidden, a notice has the reason for the first one. The
 * rules below are asked then: they may remove the obstacle.
 */
export function firstPossible(
  snapshot: ClusterSnapshot,
  proposals: readonly Proposed<ClusterStep>[],
): Opinion<ClusterStep> | undefined {
  const [first] = proposals;
  if (first === undefined) return undefined;
  const held = () => notice(`${first.because}; that is held back: ${whyForbidden(snapshot, first)}`);
  return possibleOne(snapshot, proposals) ?? held();
}

/** The first of these that no guard forbids. */
export function possibleOne(
  snapshot: ClusterSnapshot,
  proposals: readonly Proposed<ClusterStep>[],
): Proposed<ClusterStep> | undefined {
  return proposals.find((proposal) => whyForbidden(snapshot, proposal) === undefined);
}

function whyForbidden(snapshot: ClusterSnapshot, { step }: Proposed<ClusterStep>): string | undefined {
  return forbiddenBy(CLUSTER_GUARDS, snapshot, step)?.why;
}
