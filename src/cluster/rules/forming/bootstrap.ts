import { whyNotFor } from "#cluster/certificates/newcomer.ts";
import { newPeer } from "#cluster/desired/peer.ts";
import { mayBootstrap } from "#cluster/members.ts";
import { identityOf, isForming, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step, wait } from "#runtime/decide.ts";

/** Nothing tells when a Secret changes, in milliseconds. */
const RECHECK_MS = 2_000;

/**
 * Each member of the frozen list that has never joined gets its EtcdPeer, with the means to bootstrap; with certificates that are not good for
 * one of them nobody does. Nothing is deleted here.
 */
export const bootstrap: ClusterRule = {
  name: "bootstrap",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const all = (identity?.initialMembers ?? []).filter(
      (member) => mayBootstrap(snapshot, member) && peerNamed(snapshot, member.name) === undefined,
    );
    const [missing] = all;
    if (identity === undefined || missing === undefined) return undefined;
    const why = all.flatMap(({ name }) => whyNotFor(snapshot, name) ?? []).join("; ");
    if (why !== "")
      return isForming(snapshot) ? wait("bootstrap", why, RECHECK_MS, { warn: true }) : remark("bootstrap", why);
    const because = `${missing.name} is one of the ${identity.initialMembers.length} first members`;
    return step("bootstrap", because, { do: "createPeer", peer: newPeer(snapshot, identity, missing.name) });
  },
};
