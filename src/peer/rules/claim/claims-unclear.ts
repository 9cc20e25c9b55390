import { CLAIM_CLUSTER_ID_ANNOTATION } from "#api/names.ts";
import { hasJoined, isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** Refuses to start a member on a claim with data of another cluster. */
export const claimsUnclear: PeerRule = {
  name: "claims-unclear",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || isOwnClaim(snapshot, claim) || hasJoined(snapshot)) return undefined;
    const clusterID = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
    const origin = clusterID === undefined ? "of unknown origin" : `of cluster ${clusterID}`;
    const because = `claim ${claim.metadata.name} holds data ${origin}, not of cluster ${peer.spec.clusterID}; delete it if that data is not needed`;
    return wait("claims-unclear", because, 10_000, { warn: true });
  },
};
