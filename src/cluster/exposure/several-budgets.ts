import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import { hasNoBudget } from "./desired/disruption-budget.ts";

/** Number of budgets that a message names. It counts the rest, because a longer list is not easier to act on. */
const NAMED = 3;

/**
 * Why drains cannot evict the members, and what to do; undefined when at most one budget selects them. Kubernetes
 * refuses to evict a pod with two budgets (pkg/registry/core/pod/storage/eviction.go), and policy engines create one for
 * every workload.
 */
export function severalBudgetsText(snapshot: ClusterSnapshot): string | undefined {
  const { budget, otherBudgets } = snapshot;
  const own = budget === undefined || !isOwned(snapshot, budget) ? [] : [budget.metadata.name];
  const others = otherBudgets.map(({ metadata }) => metadata.name).sort();
  if (others.length === 0 || own.length + others.length < 2) return undefined;
  const names = [...own, ...others.slice(0, NAMED)].join(", ");
  const more = others.length > NAMED ? `, and ${others.length - NAMED} more` : "";
  const keepOne = "To keep one of them instead, delete the rest and set spec.disruptionBudget.policy: None.";
  const remedy = hasNoBudget(snapshot)
    ? "Keep only one of them."
    : others.length === 1
      ? `Delete ${others[0]}, or set spec.disruptionBudget.policy: None.`
      : `Delete the others. ${keepOne}`;
  return `The PodDisruptionBudgets ${names}${more} select members' pods. Kubernetes evicts no pod that two budgets select, so drains wait for ever. ${remedy}`;
}
