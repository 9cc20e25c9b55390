import { claimLabels } from "#api/names.ts";
import { isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Restores the labels of the claim: without them a recreated EtcdCluster does not find it, and label selectors miss it.
 */
export const labelClaim: PeerRule = {
  name: "label-claim",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || !isOwnClaim(snapshot, claim)) return undefined;
    const labels = claimLabels(peer.spec.clusterName, peer.metadata.name);
    const isWhole = Object.entries(labels).every(([key, value]) => claim.metadata.labels?.[key] === value);
    if (isWhole) return undefined;
    const because = `the labels of claim ${claim.metadata.name} were changed`;
    return step("label-claim", because, { do: "labelClaim", claim, labels });
  },
};
