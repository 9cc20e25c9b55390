import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { isPolicyWanted, networkPolicy, policyHolds } from "#cluster/desired/network-policy.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** What refuses it, or has taken its name, tells nobody when it is gone, in milliseconds. */
const RECHECK_MS = 5_000;

/**
 * Members are made behind the NetworkPolicy that is asked for, or not at all. Who runs without one goes on. What others add to it, such as an
 * admission of theirs, keeps nobody waiting.
 */
export const awaitNetworkPolicy: ClusterRule = {
  name: "await-network-policy",
  decide(snapshot) {
    if (!isPolicyWanted(snapshot) || snapshot.peers.length > 0) return undefined;
    const why = whyOpen(snapshot);
    if (why === undefined) return undefined;
    const because = `no member is made before a NetworkPolicy says who may reach it: ${why}`;
    return wait("await-network-policy", because, RECHECK_MS, { warn: true });
  },
};

/** Why the members would not be behind the one that is asked for, and what a person can do about it. */
function whyOpen(snapshot: ClusterSnapshot): string | undefined {
  const { cluster, networkPolicy: live } = snapshot;
  const defects = whyNotNetworkPolicy(cluster.spec.networkPolicy);
  if (defects.length > 0) return defects.map(({ field, message }) => `${field}: ${message}`).join("; ");
  const wanted = networkPolicy(snapshot);
  const { name } = wanted.metadata;
  if (live === undefined) return `NetworkPolicy ${name} is not there, and has yet to be made`;
  if (!isOwned(snapshot, live)) return takenText(live);
  return policyHolds(live, wanted)
    ? undefined
    : `NetworkPolicy ${name} lacks what spec.networkPolicy asks for, and has yet to be put right`;
}
