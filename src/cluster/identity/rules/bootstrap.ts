import { newPeer } from "#cluster/members/desired/peer.ts";
import { mayBootstrap } from "#cluster/members/members.ts";
import { identityOf, isForming, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyCannotJoin } from "#cluster-tls/effective/new-member.ts";
import { notice, step, wait } from "#runtime/decide.ts";

/** Recheck interval, in milliseconds: no watch reports a change of a Secret. */
const RECHECK_MS = 2_000;

/**
 * Creates the EtcdPeer of each member of the frozen list that has never joined, with the means to bootstrap. If the
 * certificates of one are not valid, none is created. Nothing is deleted here.
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
    const why = all.flatMap(({ name }) => whyCannotJoin(snapshot, name) ?? []).join("; ");
    if (why !== "") return isForming(snapshot) ? wait(why, RECHECK_MS, { warn: true }) : notice(why);
    const because = `${missing.name} is one of the ${identity.initialMembers.length} first members`;
    return step(because, { do: "createPeer", peer: newPeer(snapshot, identity, missing.name) });
  },
};
