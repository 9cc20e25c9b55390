import { reachedBy } from "#api/tls.ts";
import { recheckMs } from "#base/recheck.ts";
import { intendedPeer } from "#cluster/members/desired/peer.ts";
import { nextToJoin } from "#cluster/members/growth.ts";
import { joiningMembers } from "#cluster/members/learners.ts";
import { ownVoters, sick } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf, urlOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyCannotJoin } from "#cluster-tls/effective/new-member.ts";
import { notice, step, wait } from "#runtime/decide.ts";
import { retire } from "./delete-peer-of-removed.ts";

/** Recheck intervals in milliseconds: etcd refuses to add a member while a voter is not connected. */
const RECHECK = { firstMs: 1_000, maxMs: 10_000 };

/** The recheck interval for a learner that was added by hand, in milliseconds: people decide slowly. */
const LEARNER_RECHECK_MS = 10_000;

/** A fallback for lost events, in milliseconds: an event reports when the object of that name is deleted. */
const NAME_RECHECK_MS = 2_000;

/** Whether a claim has the name of a member that is not added yet: it holds other data. */
function hasClaim({ claims, unseenClaims }: ClusterSnapshot, name: string): boolean {
  const unseen = unseenClaims.is === "present" ? unseenClaims.value : [];
  return [...claims, ...unseen].some(({ metadata }) => metadata.name === name);
}

/**
 * Adds a member when there are fewer voters than `spec.replicas`. An intent (an EtcdPeer that may not start yet)
 * precedes the learner, so that the rule continues after a crash; an unwanted intent is deleted. No member is added
 * with certificates that are invalid or not trusted by all members: they restart first.
 */
export const scaleUp: ClusterRule = {
  name: "scale-up",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const { replicas } = snapshot.cluster.spec;
    const voters = ownVoters(snapshot);
    const { name, intent, leaving } = nextToJoin(snapshot);
    if (voters.length >= replicas) return intent === undefined ? undefined : retire(intent);
    if (identity === undefined) return undefined;
    const wanted = `${replicas} members are wanted and there are ${voters.length}`;
    const whyNot = whyCannotJoin(snapshot, name);
    if (whyNot !== undefined) {
      const because = `${wanted}; ${name} is not added: ${whyNot}`;
      // Later rules continue: restarting the members with a CA bundle that trusts the new one may resolve it. An intent
      // is dropped, so that no member waits to trust it.
      return intent === undefined ? notice(because) : step(because, { do: "deletePeer", peer: intent });
    }
    const { unseenClaims } = snapshot;
    if (unseenClaims.is !== "present") {
      const why = unseenClaims.is === "unknown" ? unseenClaims.why : "claims are not known";
      return wait(`${wanted}; no member is added: ${why}`, NAME_RECHECK_MS, { warn: true });
    }
    if (intent !== undefined && hasClaim(snapshot, name)) {
      const because = `${wanted}; claim ${name} exists already: the next free name is used`;
      return step(because, { do: "deletePeer", peer: intent });
    }
    if (intent === undefined) {
      if (leaving) return wait(`${wanted}; the old ${name} is still being deleted`, NAME_RECHECK_MS);
      return step(`${wanted}: ${name} will join`, {
        do: "createPeer",
        peer: intendedPeer(snapshot, identity, name),
      });
    }
    const away = sick(snapshot);
    if (away.length > 0) {
      const because = `${wanted}; before one is added, ${away.map(({ name }) => name).join(", ")} must be healthy`;
      const lastsMs = Math.min(...away.map((member) => member.history.sickForMs));
      return wait(because, recheckMs(lastsMs, RECHECK));
    }
    const taken = joiningMembers(snapshot).find(({ isOurs }) => !isOurs);
    if (taken !== undefined) {
      const because = `${wanted}; etcd allows one learner at a time, and ${taken.name} was added by hand: promote it or remove it`;
      return wait(because, LEARNER_RECHECK_MS, { warn: true });
    }
    return step(`${wanted}: ${name} joins as a learner`, {
      do: "addLearner",
      name,
      peerUrl: urlOf(snapshot, name, reachedBy(intent.spec)),
    });
  },
};
