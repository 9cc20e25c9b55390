import { volumeClaim } from "#peer/desired/volume-claim.ts";
import { hasJoined } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Creates the claim before the pod that uses it. A joined member gets none: an empty claim must not be taken for the
 * lost one.
 */
export const createClaim: PeerRule = {
  name: "create-claim",
  decide(snapshot) {
    if (snapshot.claim !== undefined || hasJoined(snapshot)) return undefined;
    // A user may restore a claim that was lost during the sleep until the cluster wakes.
    if (snapshot.isAsleep) return undefined;
    return step("create-claim", `${snapshot.peer.metadata.name} keeps its data on a claim of its own name`, {
      do: "createClaim",
      claim: volumeClaim(snapshot),
    });
  },
};
