import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** A person has asked the operator to change nothing about this cluster, and so about its members. */
export const paused: PeerRule = {
  name: "paused",
  decide({ pausedBy }) {
    if (pausedBy === undefined) return undefined;
    return wait("paused", `nothing is changed while, on its EtcdCluster, ${pausedBy}`, 10_000);
  },
};
