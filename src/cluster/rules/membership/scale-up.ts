import { reachedBy } from "#api/tls.ts";
import { recheckMs } from "#base/recheck.ts";
import { whyNotFor } from "#cluster/certificates/newcomer.ts";
import { intendedPeer } from "#cluster/desired/peer.ts";
import { nextToJoin } from "#cluster/growth.ts";
import { arriving } from "#cluster/learners.ts";
import { ownVoters, sick } from "#cluster/members.ts";
import { sickForMs } from "#cluster/patience.ts";
import { retire } from "#cluster/rules/membership/retire-peer.ts";
import { identityOf, urlOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step, wait } from "#runtime/decide.ts";

/** etcd adds nobody while a voter is not connected and would only refuse, so it is asked again after this, in milliseconds. */
const RECHECK = { firstMs: 1_000, maxMs: 10_000 };

/** A person decides about a learner of theirs in their own time, so it is looked at rarely, in milliseconds. */
const LEARNER_RECHECK_MS = 10_000;

/** Events tell when the holder of a name has gone; this is for events that never come, in milliseconds. */
const NAME_RECHECK_MS = 2_000;

/**
 * There are fewer voters than are wanted. First the intent is made, an EtcdPeer that may not start yet, then the learner is added:
 * after a crash between the two the intent is found and goes on. An intent that is not wanted any more is deleted. Nobody is added for whom the
 * certificates are not good that it gets, as most members have them, or whom not all of them would believe: they restart first.
 */
export const scaleUp: ClusterRule = {
  name: "scale-up",
  decide(snapshot) {
    const identity = identityOf(snapshot);
    const { replicas } = snapshot.cluster.spec;
    const voters = ownVoters(snapshot);
    const { name, intent, leaving } = nextToJoin(snapshot);
    if (voters.length >= replicas) return intent === undefined ? undefined : retire(intent, "scale-up");
    if (identity === undefined) return undefined;
    const wanted = `${replicas} members are wanted and there are ${voters.length}`;
    const whyNot = whyNotFor(snapshot, name);
    if (whyNot !== undefined) {
      const because = `${wanted}; ${name} is not added: ${whyNot}`;
      // All else goes on, since it may be what helps: those that there are to restart with whom to trust besides. Nobody waits for an intent to trust
      // them, too: it starts no sooner.
      return intent === undefined
        ? remark("scale-up", because)
        : step("scale-up", because, { do: "deletePeer", peer: intent });
    }
    if (intent === undefined) {
      if (leaving) return wait("scale-up", `${wanted}; the old ${name} is still going away`, NAME_RECHECK_MS);
      return step("scale-up", `${wanted}: ${name} is to join`, {
        do: "createPeer",
        peer: intendedPeer(snapshot, identity, name),
      });
    }
    const away = sick(snapshot);
    if (away.length > 0) {
      const because = `${wanted}; before one is added, ${away.map(({ name }) => name).join(", ")} must be healthy`;
      const lastsMs = Math.min(...away.map((member) => sickForMs(snapshot, member)));
      return wait("scale-up", because, recheckMs(lastsMs, RECHECK));
    }
    const taken = arriving(snapshot).find(({ isOurs }) => !isOurs);
    if (taken !== undefined) {
      const because = `${wanted}; etcd has room for one learner at a time, and somebody has added ${taken.name}: promote it, or remove it`;
      return wait("scale-up", because, LEARNER_RECHECK_MS, { warn: true });
    }
    return step("scale-up", `${wanted}: ${name} joins as a learner`, {
      do: "addLearner",
      name,
      peerUrl: urlOf(snapshot, name, reachedBy(intent.spec)),
    });
  },
};
