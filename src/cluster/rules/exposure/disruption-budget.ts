import { budgetDiffers, disruptionBudget, hasNoBudget } from "#cluster/desired/disruption-budget.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/** The PodDisruptionBudget keeps evictions from taking the quorum away, unless nobody wants one. */
export const disruptionBudgetRule: ClusterRule = {
  name: "disruption-budget",
  decide(snapshot) {
    const wanted = disruptionBudget(snapshot);
    const live = snapshot.budget;
    if (hasNoBudget(snapshot)) {
      // One of somebody else may be what holds evictions back instead.
      if (live === undefined || live.metadata.deletionTimestamp !== undefined || !isOwned(snapshot, live))
        return undefined;
      const goes = `PodDisruptionBudget ${live.metadata.name} goes: spec.disruptionBudget is None`;
      return step("disruption-budget", goes, { do: "deleteBudget", live });
    }
    const keeps = `PodDisruptionBudget ${wanted.metadata.name} keeps ${wanted.spec?.minAvailable} members available`;
    if (live === undefined) return step("disruption-budget", keeps, { do: "createBudget", budget: wanted });
    if (!isOwned(snapshot, live)) return remark("disruption-budget", takenText(live));
    if (!budgetDiffers(live, wanted)) return undefined;
    return step("disruption-budget", keeps, { do: "replaceBudget", live, budget: wanted });
  },
};
