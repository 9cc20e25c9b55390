import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { isPolicyWanted, networkPolicy, policyHolds } from "#cluster/exposure/desired/network-policy.ts";
import { takenText } from "#cluster/owned.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

/** Recheck interval, in milliseconds: no event reports that a refusal or a foreign owner is gone. */
const RECHECK_MS = 5_000;

/**
 * New members are created only behind the NetworkPolicy that spec.networkPolicy asks for. Members that run already
 * continue. Additions by other clients do not block.
 */
export const awaitNetworkPolicy: ClusterRule = {
  name: "await-network-policy",
  decide(snapshot) {
    if (!isPolicyWanted(snapshot) || snapshot.peers.length > 0) return undefined;
    const why = whyOpen(snapshot);
    if (why === undefined) return undefined;
    const because = `no member is created before a NetworkPolicy limits access to it: ${why}`;
    return wait(because, RECHECK_MS, { warn: true });
  },
};

/** Why the members would not be behind the wanted policy, and what a person can do about it. */
function whyOpen(snapshot: ClusterSnapshot): string | undefined {
  const { cluster, networkPolicy: live } = snapshot;
  const defects = whyNotNetworkPolicy(cluster.spec.networkPolicy);
  if (defects.length > 0) return defects.map(({ field, message }) => `${field}: ${message}`).join("; ");
  const wanted = networkPolicy(snapshot);
  const { name } = wanted.metadata;
  if (live === undefined) return `NetworkPolicy ${name} does not exist yet`;
  if (!isOwned(snapshot, live)) return takenText(live);
  return policyHolds(live, wanted)
    ? undefined
    : `NetworkPolicy ${name} does not have the rules of spec.networkPolicy yet`;
}
