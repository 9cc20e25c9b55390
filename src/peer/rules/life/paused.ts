import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** A person has asked the operator to keep its hands off this cluster, and so off its members. */
export const paused: PeerRule = {
  name: "paused",
  decide({ isPaused }) {
    return isPaused ? wait("paused", "nothing is changed while the cluster is paused", 10_000) : undefined;
  },
};
