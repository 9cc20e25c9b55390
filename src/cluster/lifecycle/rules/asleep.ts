import { sleeps, withPods } from "#cluster/lifecycle/sleep.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Fallback when a pod has no event, in milliseconds. */
const RECHECK_MS = 10_000;

/** Nothing is decided about a cluster that sleeps. The `peer` controller stops its members. */
export const asleep: ClusterRule = {
  name: "asleep",
  decide(snapshot) {
    if (!sleeps(snapshot)) return undefined;
    const names = withPods(snapshot);
    if (names.length === 0) return { next: "settled" };
    return wait(`${names.join(", ")} ${names.length === 1 ? "has" : "have"} yet to stop`, RECHECK_MS);
  },
};
