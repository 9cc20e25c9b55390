import { newPeer } from "#cluster/desired/peer.ts";
import { mayBootstrap } from "#cluster/members.ts";
import { identityOf, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Each member of the frozen list that has never joined gets its EtcdPeer, with the means to bootstrap. Nothing is deleted here. */
export const bootstrap: ClusterRule = {
  name: "bootstrap",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const missing = identity?.initialMembers.find(
      (member) => mayBootstrap(snapshot, member) && peerNamed(snapshot, member.name) === undefined,
    );
    if (identity === undefined || missing === undefined) return undefined;
    const because = `${missing.name} is one of the ${identity.initialMembers.length} first members`;
    return step("bootstrap", because, { do: "createPeer", peer: newPeer(snapshot, identity, missing.name) });
  },
};
