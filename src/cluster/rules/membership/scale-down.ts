import { isToSleep } from "#api/sleep.ts";
import { intendedPeers, isLeaving, ownVoters } from "#cluster/members.ts";
import { retire } from "#cluster/rules/membership/retire-peer.ts";
import { peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { surplusVoter } from "#cluster/surplus.ts";
import { step } from "#runtime/decide.ts";

/**
 * There are more voters than are wanted, and one is chosen to go. The choice is put on record before anything is done about it. An
 * intent that was made when more were wanted is taken back first: nobody goes while somebody is about to come.
 */
export const scaleDown: ClusterRule = {
  name: "scale-down",
  decide(snapshot) {
    // Nobody goes where nobody is wanted: who cannot be put to sleep yet stays whole.
    const leaving = isToSleep(snapshot.cluster) ? undefined : surplusVoter(snapshot);
    const peer = leaving === undefined ? undefined : peerNamed(snapshot, leaving.name);
    if (leaving === undefined || peer === undefined) return undefined;
    if (isLeaving(snapshot, leaving.name)) return undefined; // remove-member goes on with it
    const [intent] = intendedPeers(snapshot).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (intent !== undefined) return retire(intent, "scale-down");
    const because = `${snapshot.cluster.spec.replicas} members are wanted and there are ${ownVoters(snapshot).length}: ${leaving.name} goes`;
    return step("scale-down", because, { do: "markRemoval", peer, removal: "scale-down" });
  },
};
