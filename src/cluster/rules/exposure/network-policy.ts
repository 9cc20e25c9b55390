import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { isPolicyWanted, networkPolicy, policyDiffers } from "#cluster/desired/network-policy.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/** A NetworkPolicy says who may reach the members, where somebody asks for one. */
export const networkPolicyRule: ClusterRule = {
  name: "network-policy",
  decide(snapshot) {
    const live = snapshot.networkPolicy;
    if (!isPolicyWanted(snapshot)) {
      // One of somebody else is no business of the cluster's.
      if (live === undefined || live.metadata.deletionTimestamp !== undefined || !isOwned(snapshot, live))
        return undefined;
      const goes = `NetworkPolicy ${live.metadata.name} goes: spec.networkPolicy.enabled is not true`;
      return step("network-policy", goes, { do: "deleteNetworkPolicy", live });
    }
    // It would let in others than somebody means: what is there stays.
    if (whyNotNetworkPolicy(snapshot.cluster.spec.networkPolicy).length > 0) return undefined;
    const wanted = networkPolicy(snapshot);
    const says = `NetworkPolicy ${wanted.metadata.name} says who may reach the members`;
    if (live === undefined) return step("network-policy", says, { do: "createNetworkPolicy", policy: wanted });
    if (!isOwned(snapshot, live)) return remark("network-policy", takenText(live));
    if (!policyDiffers(live, wanted)) return undefined;
    return step("network-policy", says, { do: "replaceNetworkPolicy", live, policy: wanted });
  },
};
