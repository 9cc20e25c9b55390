import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION } from "#api/names.ts";
import type { PeerRule } from "#peer/plan.ts";
import { hasJoined, isOwnClaim } from "#peer/snapshot.ts";
import { wait } from "#runtime/decide.ts";

/** Data of another cluster is never started over: not as ours, and not as its own. */
export const claimTaken: PeerRule = {
  name: "claim-taken",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || isOwnClaim(snapshot, claim)) return undefined;
    const clusterID = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
    const whose = clusterID === undefined ? "of unknown origin" : `of cluster ${clusterID}`;
    if (hasJoined(snapshot)) {
      const says = clusterID === undefined ? "does not say any more" : "says otherwise now";
      const because = `claim ${claim.metadata.name} ${says} that it holds the data of cluster ${peer.spec.clusterID}, member ${peer.spec.memberID}; set its annotations ${CLAIM_CLUSTER_ID_ANNOTATION} and ${CLAIM_MEMBER_ID_ANNOTATION} back if it does`;
      return wait("claim-taken", because, 10_000, { warn: true });
    }
    const because = `claim ${claim.metadata.name} holds data ${whose}, not of cluster ${peer.spec.clusterID}; delete it if that data is not needed`;
    return wait("claim-taken", because, 10_000, { warn: true });
  },
};
