import { PEER_SCHEME_ANNOTATION } from "#api/names.ts";
import { reachedBy } from "#api/tls.ts";
import { isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/** A claim says how the others reach its member: who comes back from it has to be reached as before. */
export const annotateClaim: PeerRule = {
  name: "annotate-claim",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || !isOwnClaim(snapshot, claim)) return undefined;
    const scheme = reachedBy(peer.spec);
    const told = claim.metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
    if (told === scheme) return undefined;
    const because = `${peer.metadata.name} is reached by ${scheme} from now on, and its claim says ${told}`;
    return step("annotate-claim", because, { do: "annotateClaim", claim, scheme });
  },
};
