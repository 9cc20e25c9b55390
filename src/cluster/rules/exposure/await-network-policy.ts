import { isPolicyWanted, networkPolicy, policyDiffers } from "#cluster/desired/network-policy.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** What refuses it, or has taken its name, tells nobody when it is gone, in milliseconds. */
const RECHECK_MS = 5_000;

/** Members are made behind the NetworkPolicy that is asked for, or not at all. Who runs without one goes on. */
export const awaitNetworkPolicy: ClusterRule = {
  name: "await-network-policy",
  decide(snapshot) {
    if (!isPolicyWanted(snapshot) || snapshot.peers.length > 0) return undefined;
    const [live, wanted] = [snapshot.networkPolicy, networkPolicy(snapshot)];
    if (live !== undefined && isOwned(snapshot, live) && !policyDiffers(live, wanted)) return undefined;
    const because = `no member is made before NetworkPolicy ${wanted.metadata.name} says who may reach it`;
    return wait("await-network-policy", because, RECHECK_MS, { warn: true });
  },
};
