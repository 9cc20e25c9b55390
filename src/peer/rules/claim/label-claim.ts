import { memberLabels } from "#api/names.ts";
import { isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/** A claim without its labels is not found when its cluster is made again, and looks lost to whoever selects by them. */
export const labelClaim: PeerRule = {
  name: "label-claim",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || !isOwnClaim(snapshot, claim)) return undefined;
    const labels = memberLabels(peer.spec.clusterName, peer.metadata.name);
    const isWhole = Object.entries(labels).every(([key, value]) => claim.metadata.labels?.[key] === value);
    if (isWhole) return undefined;
    const because = `somebody has changed the labels of claim ${claim.metadata.name}`;
    return step("label-claim", because, { do: "labelClaim", claim, labels });
  },
};
