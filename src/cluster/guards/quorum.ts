import { isHeldByCertificates } from "#cluster/growth.ts";
import { ABOUT_MEMBERSHIP, isAboutAuth, isHarmless, restartedBy } from "#cluster/guards/touched.ts";
import { knownMembers, spareVoters, takesPart, votersOf } from "#cluster/members.ts";
import { sickForMs } from "#cluster/patience.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { hexOf } from "#etcd/types.ts";

/** Without a linearizable member list, no member and no data is changed. */
export const needMemberList: ClusterGuard = {
  name: "need-member-list",
  forbids(snapshot, step) {
    const isAboutEtcd = ABOUT_MEMBERSHIP.includes(step.do) || (isAboutAuth(step) && step.do !== "createRootSecret");
    if (!isAboutEtcd || snapshot.members.is === "present" || isHarmless(snapshot, step)) return undefined;
    return "the member list could not be read linearizably";
  },
};

/**
 * No restart leaves fewer healthy voters than a quorum, and nobody has a turn that it could not use, unless fewer than three members are wanted, or
 * there are fewer and the restart is what others wait for that are to join. It may take the last spare one, since the member comes back with its
 * data.
 */
export const restartKeepsQuorum: ClusterGuard = {
  name: "restart-keeps-quorum",
  forbids(snapshot, step) {
    const restarts = restartedBy(snapshot, step);
    const voters = votersOf(snapshot);
    if (!voters.some(({ name }) => name === restarts)) return undefined;
    if (voters.length < 3 && (snapshot.cluster.spec.replicas < 3 || isHeldByCertificates(snapshot))) return undefined;
    const healthy = voters.filter((member) => member.name !== restarts && takesPart(snapshot, member)).length;
    const isEnough = spareVoters(voters.length, healthy) >= 0;
    return isEnough ? undefined : `${healthy} of ${voters.length} voters would be healthy: less than a quorum`;
  },
};

/** A member that has been sick for less than this, in milliseconds, may be well: a pod that has just started is not dialled yet. */
const DOUBT_MS = 5_000;

/**
 * No change of membership leaves fewer healthy voters than a quorum. Nor does it take the last spare one away, unless fewer
 * than three members are wanted; to remove a voter that has been sick for a while takes nothing away.
 */
export const keepQuorum: ClusterGuard = {
  name: "keep-quorum",
  forbids(snapshot, step) {
    if (step.do !== "removeMember" && step.do !== "promote") return undefined;
    const target = knownMembers(snapshot).find(({ id }) => id === hexOf(step.id));
    if (target === undefined) return `${step.name} is not in the member list`;
    if (step.do === "removeMember" && target.isLearner) return undefined; // A learner has no vote, so no quorum changes.
    const voters = votersOf(snapshot).length;
    const healthy = votersOf(snapshot).filter((member) => takesPart(snapshot, member)).length;
    const change = step.do === "promote" ? 1 : -1;
    const after = { voters: voters + change, healthy: healthy + (takesPart(snapshot, target) ? change : 0) };
    const spare = spareVoters(after.voters, after.healthy);
    const counted = `${after.healthy} of ${after.voters} voters would be healthy`;
    if (after.voters < 1 || spare < 0) return `${counted}: less than a quorum`;
    const mayBeWell = takesPart(snapshot, target) || sickForMs(snapshot, target) < DOUBT_MS;
    const takesSpare = step.do === "promote" ? spare < spareVoters(voters, healthy) : mayBeWell;
    return spare === 0 && takesSpare && snapshot.cluster.spec.replicas >= 3 ? `${counted}: none to spare` : undefined;
  },
};
