import { CLAIM_CLUSTER_ID_ANNOTATION } from "#api/names.ts";
import { hasJoined, isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/** No member is started on a claim that holds the data of another cluster: neither as ours nor as a member of that one. */
export const claimTaken: PeerRule = {
  name: "claim-taken",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || isOwnClaim(snapshot, claim) || hasJoined(snapshot)) return undefined;
    const clusterID = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
    const whose = clusterID === undefined ? "of unknown origin" : `of cluster ${clusterID}`;
    const because = `claim ${claim.metadata.name} holds data ${whose}, not of cluster ${peer.spec.clusterID}; delete it if that data is not needed`;
    return wait("claim-taken", because, 10_000, { warn: true });
  },
};
