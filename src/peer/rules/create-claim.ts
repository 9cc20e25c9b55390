import { volumeClaim } from "#peer/desired/volume-claim.ts";
import type { PeerRule } from "#peer/plan.ts";
import { step } from "#runtime/decide.ts";

/** The claim is there before the pod that uses it. */
export const createClaim: PeerRule = {
  name: "create-claim",
  decide(snapshot) {
    if (snapshot.claim !== undefined) return undefined;
    return step("create-claim", `${snapshot.peer.metadata.name} keeps its data on a claim of its own name`, {
      do: "createClaim",
      claim: volumeClaim(snapshot),
    });
  },
};
