import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION } from "#api/names.ts";
import { hasJoined, isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Warns when the claim of a joined member has no or other identity annotations: the claim was replaced, or a user has
 * changed it. Only a user knows what data it holds.
 */
export const claimDisowned: PeerRule = {
  name: "claim-disowned",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || isOwnClaim(snapshot, claim) || !hasJoined(snapshot)) return undefined;
    const isSilent = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] === undefined;
    const says = isSilent ? "is no longer annotated" : "is annotated otherwise than";
    const because = `claim ${claim.metadata.name} ${says} that it holds the data of cluster ${peer.spec.clusterID}, member ${peer.spec.memberID}; set its annotations ${CLAIM_CLUSTER_ID_ANNOTATION} and ${CLAIM_MEMBER_ID_ANNOTATION} back if it does`;
    return wait("claim-disowned", because, 10_000, { warn: true });
  },
};
