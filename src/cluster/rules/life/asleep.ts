import { sleeps, withPods } from "#cluster/sleep.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** A pod's own end wakes the cluster; this is for an event that never comes, in milliseconds. */
const RECHECK_MS = 10_000;

/** About a cluster that sleeps nothing is decided. The room of the members stops them. */
export const asleep: ClusterRule = {
  name: "asleep",
  decide(snapshot) {
    if (!sleeps(snapshot)) return undefined;
    const names = withPods(snapshot);
    if (names.length === 0) return { next: "settled" };
    return wait("asleep", `${names.join(", ")} ${names.length === 1 ? "has" : "have"} yet to stop`, RECHECK_MS);
  },
};
