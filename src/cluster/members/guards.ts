import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { hasTrait, STEP_TRAITS } from "#cluster/step-traits.ts";
import { interruptedBy, isHarmless } from "#cluster/touched.ts";
import { hexOf } from "#etcd/types.ts";
import { isHeldByCertificates } from "./growth.ts";
import { knownMembers, spareVoters, votersOf } from "./members.ts";

/** No change of members or data without a linearizable member list. */
export const needMemberList: ClusterGuard = {
  name: "need-member-list",
  forbids(snapshot, step) {
    if (!hasTrait(step, "needsList", true) || isHarmless(snapshot, step)) return undefined;
    return snapshot.members.is === "present" ? undefined : "the member list could not be read linearizably";
  },
};

/**
 * No restart leaves fewer healthy voters than a quorum. Exceptions: fewer than three members are wanted, or new members
 * can join only after the restart. The last spare voter may restart, since it returns with its data.
 */
export const restartKeepsQuorum: ClusterGuard = {
  name: "restart-keeps-quorum",
  forbids(snapshot, step) {
    const stops = interruptedBy(snapshot, step);
    const voters = votersOf(snapshot);
    if (!voters.some(({ name }) => name === stops)) return undefined;
    if (voters.length < 3 && (snapshot.cluster.spec.replicas < 3 || isHeldByCertificates(snapshot))) return undefined;
    const healthy = voters.filter((member) => member.name !== stops && member.participatesInQuorum).length;
    const isEnough = spareVoters(voters.length, healthy) >= 0;
    return isEnough ? undefined : `${healthy} of ${voters.length} voters would be healthy: less than a quorum`;
  },
};

/**
 * A member that has been sick for less than this, in milliseconds, may be well: a pod that has just started is not
 * dialled yet. Larger: removal of a sick voter waits longer.
 */
const DOUBT_MS = 5_000;

function givesVote(step: ClusterStep): boolean {
  return hasTrait(step, "votes", 1);
}

/**
 * No change of membership leaves fewer healthy voters than a quorum, or removes the last spare one, unless fewer than
 * three members are wanted. A voter that was unhealthy for long counts as lost already.
 */
export const keepQuorum: ClusterGuard = {
  name: "keep-quorum",
  forbids(snapshot, step) {
    if (hasTrait(step, "votes", 0)) return undefined;
    const target = knownMembers(snapshot).find(({ id }) => id === hexOf(step.id));
    if (target === undefined) return `${step.name} is not in the member list`;
    const { votes: change } = STEP_TRAITS[step.do];
    const addsVote = givesVote(step);
    if (!addsVote && target.isLearner) return undefined; // A learner has no vote, so no quorum changes.
    const voters = votersOf(snapshot).length;
    const healthy = votersOf(snapshot).filter((member) => member.participatesInQuorum).length;
    const after = { voters: voters + change, healthy: healthy + (target.participatesInQuorum ? change : 0) };
    const spare = spareVoters(after.voters, after.healthy);
    const counted = `${after.healthy} of ${after.voters} voters would be healthy`;
    if (after.voters < 1 || spare < 0) return `${counted}: less than a quorum`;
    const mayBeWell = target.participatesInQuorum || target.history.sickForMs < DOUBT_MS;
    const takesSpare = addsVote ? spare < spareVoters(voters, healthy) : mayBeWell;
    return spare === 0 && takesSpare && snapshot.cluster.spec.replicas >= 3 ? `${counted}: none to spare` : undefined;
  },
};
