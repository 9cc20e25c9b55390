import { keptTls } from "#cluster/certificates/kept.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { awaitVerdict } from "#cluster/rules/alarms/await-verdict.ts";
import { disarmAlarm } from "#cluster/rules/alarms/disarm-alarm.ts";
import { noSpace } from "#cluster/rules/alarms/no-space.ts";
import { administrators } from "#cluster/rules/auth/administrators.ts";
import { rootPassword } from "#cluster/rules/auth/root-password.ts";
import { rootSecret } from "#cluster/rules/auth/root-secret.ts";
import { switchAuth } from "#cluster/rules/auth/switch-auth.ts";
import { unmanagedNames } from "#cluster/rules/auth/unmanaged-names.ts";
import { authority } from "#cluster/rules/certificates/authority.ts";
import { awaitCertificates } from "#cluster/rules/certificates/await-certificates.ts";
import { certificateEnds } from "#cluster/rules/certificates/certificate-ends.ts";
import { certificateRequestRule } from "#cluster/rules/certificates/certificate-request.ts";
import { handOut } from "#cluster/rules/certificates/hand-out.ts";
import { leaf } from "#cluster/rules/certificates/leaf.ts";
import { rightMissing } from "#cluster/rules/certificates/right-missing.ts";
import { rotateAuthority } from "#cluster/rules/certificates/rotate-authority.ts";
import { rotationHeld } from "#cluster/rules/certificates/rotation-held.ts";
import { switchTls } from "#cluster/rules/certificates/switch-tls.ts";
import { trustMapRule } from "#cluster/rules/certificates/trust-map.ts";
import { awaitNetworkPolicy } from "#cluster/rules/exposure/await-network-policy.ts";
import { clientServiceRule } from "#cluster/rules/exposure/client-service.ts";
import { disruptionBudgetRule } from "#cluster/rules/exposure/disruption-budget.ts";
import { headlessServiceRule } from "#cluster/rules/exposure/headless-service.ts";
import { networkPolicyRule } from "#cluster/rules/exposure/network-policy.ts";
import { podMonitorRule } from "#cluster/rules/exposure/pod-monitor.ts";
import { awaitMembers } from "#cluster/rules/forming/await-members.ts";
import { bootstrap } from "#cluster/rules/forming/bootstrap.ts";
import { awaitHealth } from "#cluster/rules/healing/await-health.ts";
import { replaceLost } from "#cluster/rules/healing/replace-lost.ts";
import { adoptClaims } from "#cluster/rules/identity/adopt-claims.ts";
import { awaitRestore } from "#cluster/rules/identity/await-restore.ts";
import { claimTaken } from "#cluster/rules/identity/claim-taken.ts";
import { createRestore } from "#cluster/rules/identity/create-restore.ts";
import { defaultTls } from "#cluster/rules/identity/default-tls.ts";
import { fence } from "#cluster/rules/identity/fence.ts";
import { nameTaken } from "#cluster/rules/identity/name-taken.ts";
import { recordIdentity } from "#cluster/rules/identity/record-identity.ts";
import { recordJoined } from "#cluster/rules/identity/record-joined.ts";
import { restoreFailed } from "#cluster/rules/identity/restore-failed.ts";
import { asleep } from "#cluster/rules/life/asleep.ts";
import { awaitWaking } from "#cluster/rules/life/await-waking.ts";
import { deleting } from "#cluster/rules/life/deleting.ts";
import { fallAsleep } from "#cluster/rules/life/fall-asleep.ts";
import { paused } from "#cluster/rules/life/paused.ts";
import { wakeUp } from "#cluster/rules/life/wake-up.ts";
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
import { backupFirst } from "#cluster/rules/rolling/backup-first.ts";
import { cancelDowngrade } from "#cluster/rules/rolling/cancel-downgrade.ts";
import { enableDowngrade } from "#cluster/rules/rolling/enable-downgrade.ts";
import { forgetPrevious } from "#cluster/rules/rolling/forget-previous.ts";
import { giveTurn } from "#cluster/rules/rolling/give-turn.ts";
import { memberUrl } from "#cluster/rules/rolling/member-url.ts";
import { noVersionPath } from "#cluster/rules/rolling/no-version-path.ts";
import { putBack } from "#cluster/rules/rolling/put-back.ts";
import { refusedSpec } from "#cluster/rules/rolling/refused-spec.ts";
import { renewStopped } from "#cluster/rules/rolling/renew-stopped.ts";
import { restartMember } from "#cluster/rules/rolling/restart-member.ts";
import { restartStopped } from "#cluster/rules/rolling/restart-stopped.ts";
import { stopUpdate } from "#cluster/rules/rolling/stop-update.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { decide, type Plan, type Resting } from "#runtime/decide.ts";

/** This list is the behaviour of a cluster: the first rule with an opinion wins, so its place here is part of each rule. */
export const CLUSTER_RULES: readonly ClusterRule[] = [
  deleting, // It comes first: nothing is made for a cluster that is being deleted.
  noSpace, // It only makes a remark, which has to be told whatever else is done, also during a pause.
  noVersionPath, // The same is true of this one.
  withKept(certificateEnds), // And of this one.
  withKept(rotationHeld), // And of this one.
  rightMissing, // And of this one.
  unmanagedNames, // And of this one.
  paused, // It comes before every rule that changes something.
  asleep, // The same is true of this one.
  wakeUp, // It comes before every rule that waits for members: their time begins with it.
  refusedSpec, // It comes before anything is made: what is made from it would have to be thrown away.
  nameTaken, // It comes before anything is made, so that nothing half-done stays behind when a name is not ours.
  defaultTls, // It comes before everything that asks how members reach each other: claims, the EtcdRestore and the identity tell it on.
  adoptClaims, // It comes before a new identity is made: a cluster that was there before comes back as itself.
  createRestore, // It comes before a new identity is made: what is to begin with data does not begin without.
  awaitRestore, // It comes before claims that do not tell are called taken: the restore has not filled them yet.
  restoreFailed, // It comes before anything else is made of the claims' name.
  claimTaken, // It comes before an identity exists: afterwards the claims are the cluster's own.
  recordIdentity, // It comes before anything of the cluster exists.
  recordJoined, // It comes before every rule that asks who has joined.
  fence, // It follows joining at once: until then a member whose volume is emptied could vote.
  fallAsleep, // It comes after the fence: who sleeps may lose its volume unseen. And before all that starts or changes members.
  headlessServiceRule, // It comes before the members, which find each other by the names that it gives.
  networkPolicyRule, // It comes before the members, too: who may not reach them never can.
  awaitNetworkPolicy, // It comes after the step that it waits for, which may be refused.
  withKept(authority), // It comes before what it signs, and before the members, which trust it from their first start on.
  withKept(certificateRequestRule), // The same is true of this one: members wait for what it asks for.
  withKept(leaf), // The same is true of this one. A certificate is renewed whatever hinders the members: without it they are lost to each other.
  withKept(handOut), // It gives away what has been issued.
  withKept(trustMapRule), // It tells what the certificates are by now.
  withKept(awaitCertificates), // Members are made with their certificates, or not at all.
  bootstrap, // It makes all first members before anybody is waited for, so that they start side by side.
  restorePeer, // It comes before the quorum is asked for: it only gives a member its own data back.
  clientServiceRule, // It comes after the members: nobody needs it while they start.
  disruptionBudgetRule, // The same is true of this one.
  podMonitorRule, // And of this one.
  forgetPrevious, // It comes before whoever asks to what a member goes back.
  stopUpdate, // It comes before the quorum is asked for: a cluster of one has none while its only member does not come up.
  putBack, // The same is true of this one.
  renewStopped, // The same is true of this one: what members have may be what keeps them from running.
  restartStopped, // And of this one.
  awaitMembers, // The rules below are for a cluster that has formed.
  awaitQuorum, // The rules below need the member list.
  awaitVerdict, // The rules below may need to know whose data is right.
  disarmAlarm, // It comes before all changes of membership: until it is done, etcd serves nobody.
  rootSecret, // It comes before the user that it is for.
  administrators, // It comes before everything that etcd lets only administrators do, the changes of membership among them.
  rootPassword, // It comes after them: only an administrator may.
  switchAuth, // It comes after those who may switch it off again are there.
  cancelDowngrade, // It comes before anybody joins: while a downgrade is enabled, nobody can.
  awaitWaking, // It comes before anybody is removed, added or restarted: those who start are not the ones who are lost.
  retirePeer, // It clears away what is over before anything new begins.
  identifyMember, // It recognises a member that was added before another one could be added.
  restoreLearner, // It does the same for a member whose EtcdPeer is gone.
  takeBackLearner, // It comes before the learner could get its vote.
  promoteLearner, // It comes before the removals: a member that is under way arrives before anybody leaves.
  giveUpLearner, // It ends the wait for a learner that takes too long.
  removeMember, // It finishes a removal that is on record, or takes it back, before another one begins.
  awaitLearner, // It keeps the rules below from beginning anything while a member is on its way.
  memberUrl, // It comes before whatever asks the members to reach each other.
  replaceLost, // It comes before scaling: a sick cluster is healed first.
  restartMember, // A turn that was given ends before anything else begins.
  scaleDown,
  scaleUp,
  enableDowngrade, // It comes before the turns of those who are to go back, and asks for a cluster that is whole.
  withKept(rotateAuthority), // It begins only in a cluster that is whole, and comes before the turns, which carry out its phases.
  backupFirst, // It comes before the turns, of which the first one waits for it.
  giveTurn, // It comes after scaling, which may make a turn needless, and helps the cluster through the others.
  awaitHealth,
  switchTls, // It comes last: it only tells what goes on by itself.
];

/** Certificates are looked after by what members have, also once spec.tls is taken away from them. */
function withKept(rule: ClusterRule): ClusterRule {
  return { ...rule, decide: (snapshot) => rule.decide(keptTls(snapshot)) };
}

/** What is to be done about this snapshot. Pure and total. */
export function planCluster(snapshot: ClusterSnapshot, resting?: Resting<ClusterStep>): Plan<ClusterStep> {
  return decide(CLUSTER_RULES, CLUSTER_GUARDS, snapshot, resting);
}
