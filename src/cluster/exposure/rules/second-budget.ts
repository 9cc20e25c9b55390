import { severalBudgetsText } from "#cluster/exposure/several-budgets.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { notice } from "#runtime/decide.ts";

/** Reports that a second PodDisruptionBudget selects the members: Kubernetes then refuses every eviction. */
export const secondBudget: ClusterRule = {
  name: "second-budget",
  decide(snapshot) {
    const text = severalBudgetsText(snapshot);
    return text === undefined ? undefined : notice(text);
  },
};
