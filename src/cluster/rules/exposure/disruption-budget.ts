import { budgetDiffers, disruptionBudget } from "#cluster/desired/disruption-budget.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Evictions may never take the quorum away. */
export const disruptionBudgetRule: ClusterRule = {
  name: "disruption-budget",
  decide(snapshot) {
    const wanted = disruptionBudget(snapshot);
    const live = snapshot.budget;
    const keeps = `PodDisruptionBudget ${wanted.metadata.name} keeps ${wanted.spec?.minAvailable} members available`;
    if (live === undefined) return step("disruption-budget", keeps, { do: "createBudget", budget: wanted });
    if (!budgetDiffers(live, wanted)) return undefined;
    return step("disruption-budget", keeps, { do: "replaceBudget", live, budget: wanted });
  },
};
