import { pausedText } from "#cluster/lifecycle/pause.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Changes nothing while a person has paused the cluster. Status and certificates are still updated (renew-in-pause.ts).
 */
export const paused: ClusterRule = {
  name: "paused",
  decide(snapshot) {
    const because = pausedText(snapshot);
    return because === undefined ? undefined : wait(because, 10_000);
  },
};
