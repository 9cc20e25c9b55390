import { isToSleep } from "#api/sleep.ts";
import { intendedPeers, ownVoters } from "#cluster/members/members.ts";
import { surplusVoter } from "#cluster/members/surplus.ts";
import { peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";
import { retire } from "./delete-peer-of-removed.ts";

/**
 * Chooses the voter to remove when there are more than `spec.replicas`, and records it before anything else. An intent
 * from before is dropped first: no member is removed while another is about to join.
 */
export const scaleDown: ClusterRule = {
  name: "scale-down",
  decide(snapshot) {
    // With `spec.replicas` 0 no member is removed: a cluster that cannot sleep yet stays complete.
    const leaving = isToSleep(snapshot.cluster) ? undefined : surplusVoter(snapshot);
    const peer = leaving === undefined ? undefined : peerNamed(snapshot, leaving.name);
    if (leaving === undefined || peer === undefined) return undefined;
    if (leaving.removal !== undefined) return undefined; // remove-member carries it out
    const [intent] = intendedPeers(snapshot).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (intent !== undefined) return retire(intent);
    const because = `${snapshot.cluster.spec.replicas} members are wanted and there are ${ownVoters(snapshot).length}: ${leaving.name} is removed`;
    return step(because, { do: "markRemoval", peer, removal: "scale-down" });
  },
};
