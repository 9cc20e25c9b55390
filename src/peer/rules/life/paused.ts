import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** Changes no member while a user has paused the EtcdCluster. */
export const paused: PeerRule = {
  name: "paused",
  decide({ pausedBy }) {
    if (pausedBy === undefined) return undefined;
    return wait("paused", `the EtcdCluster is paused, so the operator changes nothing: ${pausedBy}`, 10_000);
  },
};
