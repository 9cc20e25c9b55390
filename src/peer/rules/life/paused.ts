import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** A person has asked the operator to change nothing about this cluster, and so about its members. */
export const paused: PeerRule = {
  name: "paused",
  decide({ isPaused }) {
    return isPaused ? wait("paused", "nothing is changed while the cluster is paused", 10_000) : undefined;
  },
};
