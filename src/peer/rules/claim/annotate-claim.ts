import { PEER_SCHEME_ANNOTATION } from "#api/names.ts";
import { reachedBy } from "#api/tls.ts";
import { isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Records on the claim whether the member is reached by http or https. A member recovered from the claim is then
 * reached in the same way.
 */
export const annotateClaim: PeerRule = {
  name: "annotate-claim",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || !isOwnClaim(snapshot, claim)) return undefined;
    const scheme = reachedBy(peer.spec);
    const recorded = claim.metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
    if (recorded === scheme) return undefined;
    const because = `${peer.metadata.name} is reached by ${scheme}, and its claim records ${recorded}`;
    return step("annotate-claim", because, {
      do: "annotateClaim",
      claim,
      annotations: { [PEER_SCHEME_ANNOTATION]: scheme === "https" ? scheme : null },
    });
  },
};
