import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { isPolicyWanted, networkPolicy, policyDiffers } from "#cluster/exposure/desired/network-policy.ts";
import { takenText } from "#cluster/owned.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { notice, step } from "#runtime/decide.ts";

/** Creates and corrects a NetworkPolicy that limits access to the members, when spec.networkPolicy asks for it. */
export const networkPolicyRule: ClusterRule = {
  name: "network-policy",
  decide(snapshot) {
    const live = snapshot.networkPolicy;
    if (!isPolicyWanted(snapshot)) {
      // A policy of another owner is left alone.
      if (live === undefined || live.metadata.deletionTimestamp !== undefined || !isOwned(snapshot, live))
        return undefined;
      const deletionReason = `NetworkPolicy ${live.metadata.name} is deleted: spec.networkPolicy.enabled is not true`;
      return step(deletionReason, { do: "deleteNetworkPolicy", live });
    }
    // An invalid spec could admit more clients than intended: the live policy stays.
    if (whyNotNetworkPolicy(snapshot.cluster.spec.networkPolicy).length > 0) return undefined;
    const wanted = networkPolicy(snapshot);
    const says = `NetworkPolicy ${wanted.metadata.name} limits access to the members`;
    if (live === undefined) return step(says, { do: "createNetworkPolicy", policy: wanted });
    if (!isOwned(snapshot, live)) return notice(takenText(live));
    if (!policyDiffers(live, wanted)) return undefined;
    return step(says, { do: "replaceNetworkPolicy", live, policy: wanted });
  },
};
