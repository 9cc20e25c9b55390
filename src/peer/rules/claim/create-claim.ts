import { volumeClaim } from "#peer/desired/volume-claim.ts";
import { hasJoined } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/** The claim is made before the pod that uses it. A member that has joined gets none: an empty one must not look like the lost one. */
export const createClaim: PeerRule = {
  name: "create-claim",
  decide(snapshot) {
    if (snapshot.claim !== undefined || hasJoined(snapshot)) return undefined;
    // What is lost while it sleeps may be brought back until it wakes.
    if (snapshot.isAsleep) return undefined;
    return step("create-claim", `${snapshot.peer.metadata.name} keeps its data on a claim of its own name`, {
      do: "createClaim",
      claim: volumeClaim(snapshot),
    });
  },
};
