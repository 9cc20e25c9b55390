import { sleeps } from "#cluster/lifecycle/sleep.ts";
import { isPaused } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { renewal } from "./issue-certificate.ts";
import { renewedClientSecret } from "./publish-client-secret.ts";

/**
 * Renews certificates also in a pause and while a cluster sleeps, by the current CA, if every member trusts it. No
 * member restarts for that; without it members would lose each other when the certificates expire. A CA is not rotated,
 * since members would have to restart.
 */
export const renewInPause: ClusterRule = {
  name: "renew-in-pause",
  decide(snapshot) {
    if (!isPaused(snapshot) && !sleeps(snapshot)) return undefined;
    return renewal(snapshot) ?? renewedClientSecret(snapshot);
  },
};
