import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { awaitVerdict } from "#cluster/rules/alarms/await-verdict.ts";
import { disarmAlarm } from "#cluster/rules/alarms/disarm-alarm.ts";
import { noSpace } from "#cluster/rules/alarms/no-space.ts";
import { clientServiceRule } from "#cluster/rules/exposure/client-service.ts";
import { disruptionBudgetRule } from "#cluster/rules/exposure/disruption-budget.ts";
import { headlessServiceRule } from "#cluster/rules/exposure/headless-service.ts";
import { awaitMembers } from "#cluster/rules/forming/await-members.ts";
import { bootstrap } from "#cluster/rules/forming/bootstrap.ts";
import { awaitHealth } from "#cluster/rules/healing/await-health.ts";
import { replaceLost } from "#cluster/rules/healing/replace-lost.ts";
import { adoptClaims } from "#cluster/rules/identity/adopt-claims.ts";
import { claimTaken } from "#cluster/rules/identity/claim-taken.ts";
import { fence } from "#cluster/rules/identity/fence.ts";
import { nameTaken } from "#cluster/rules/identity/name-taken.ts";
import { recordIdentity } from "#cluster/rules/identity/record-identity.ts";
import { recordJoined } from "#cluster/rules/identity/record-joined.ts";
import { deleting } from "#cluster/rules/life/deleting.ts";
import { paused } from "#cluster/rules/life/paused.ts";
import { awaitLearner } from "#cluster/rules/membership/await-learner.ts";
import { awaitQuorum } from "#cluster/rules/membership/await-quorum.ts";
import { giveUpLearner } from "#cluster/rules/membership/give-up-learner.ts";
import { identifyMember } from "#cluster/rules/membership/identify-member.ts";
import { promoteLearner } from "#cluster/rules/membership/promote-learner.ts";
import { removeMember } from "#cluster/rules/membership/remove-member.ts";
import { restoreLearner } from "#cluster/rules/membership/restore-learner.ts";
import { restorePeer } from "#cluster/rules/membership/restore-peer.ts";
import { retirePeer } from "#cluster/rules/membership/retire-peer.ts";
import { scaleDown } from "#cluster/rules/membership/scale-down.ts";
import { scaleUp } from "#cluster/rules/membership/scale-up.ts";
import { takeBackLearner } from "#cluster/rules/membership/take-back-learner.ts";
import { refuseUpgrade } from "#cluster/rules/version/refuse-upgrade.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { decide, type Plan, type Resting } from "#runtime/decide.ts";

/** THE behaviour of a cluster: the first rule with an opinion wins, so the place in this list is part of each rule. */
export const CLUSTER_RULES: readonly ClusterRule[] = [
  deleting, // first: a cluster that goes is left to go
  noSpace, // says something, and is in nobody's way
  refuseUpgrade, // likewise
  paused, // before anything is changed
  nameTaken, // before anything is made: nothing half-done stays behind when a name is not ours
  adoptClaims, // before a new identity: what was there before comes back
  claimTaken, // before an identity exists: afterwards the claims are our own
  recordIdentity, // before anything of the cluster exists
  recordJoined, // before anything that looks at who has joined
  fence, // at once after joining: every moment before is one in which an emptied member could vote
  headlessServiceRule, // before members, which look each other up by its names
  bootstrap, // all members at once: they start side by side
  restorePeer, // needs no quorum: it gives a member its own data back
  clientServiceRule, // after the members: nobody waits for it while they start
  disruptionBudgetRule, // likewise
  awaitMembers, // everything below is for a cluster that has formed
  awaitQuorum, // everything below needs the member list
  awaitVerdict, // everything below may need to know whose data is right
  disarmAlarm, // before anything else: until then nobody is served
  retirePeer, // what is over is cleared away before anything new begins
  identifyMember, // a member that was added is recognised before another one could be
  restoreLearner, // likewise, when its peer is gone
  takeBackLearner, // before it could get its vote
  promoteLearner, // a member that is under way arrives before anybody leaves
  giveUpLearner, // unless it takes too long
  removeMember, // a removal that is on record is finished, or taken back, before another one begins
  awaitLearner, // nothing else begins while a member is on its way
  replaceLost, // the lost before the surplus: a sick cluster is healed first
  scaleDown,
  scaleUp,
  awaitHealth,
];

/** What is to be done about this snapshot. Pure and total. */
export function planCluster(snapshot: ClusterSnapshot, resting?: Resting<ClusterStep>): Plan<ClusterStep> {
  return decide(CLUSTER_RULES, CLUSTER_GUARDS, snapshot, resting);
}
