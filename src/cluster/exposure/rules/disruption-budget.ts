import { budgetDiffers, disruptionBudget, hasNoBudget } from "#cluster/exposure/desired/disruption-budget.ts";
import { takenText } from "#cluster/owned.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { notice, step } from "#runtime/decide.ts";

/**
 * Creates and corrects the PodDisruptionBudget, so that evictions keep the quorum. Deletes it when
 * spec.disruptionBudget.policy is None.
 */
export const disruptionBudgetRule: ClusterRule = {
  name: "disruption-budget",
  decide(snapshot) {
    const wanted = disruptionBudget(snapshot);
    const live = snapshot.budget;
    if (hasNoBudget(snapshot)) {
      // A budget of another owner may hold evictions back instead.
      if (live === undefined || live.metadata.deletionTimestamp !== undefined || !isOwned(snapshot, live))
        return undefined;
      const deletionReason = `PodDisruptionBudget ${live.metadata.name} is deleted: spec.disruptionBudget.policy is None`;
      return step(deletionReason, { do: "deleteBudget", live });
    }
    const { minAvailable } = wanted.spec ?? {};
    const what = minAvailable === 0 ? "lets drains evict the only member" : `keeps ${minAvailable} members available`;
    const keeps = `PodDisruptionBudget ${wanted.metadata.name} ${what}`;
    if (live === undefined) return step(keeps, { do: "createBudget", budget: wanted });
    if (!isOwned(snapshot, live)) return notice(takenText(live));
    if (!budgetDiffers(live, wanted)) return undefined;
    return step(keeps, { do: "replaceBudget", live, budget: wanted });
  },
};
