import { dataDiffers } from "#cluster/alarms/rules/data-differs.ts";
import { disarmAlarm } from "#cluster/alarms/rules/disarm-alarm.ts";
import { noSpace } from "#cluster/alarms/rules/no-space.ts";
import { administrators } from "#cluster/auth/rules/administrators.ts";
import { rootPassword } from "#cluster/auth/rules/root-password.ts";
import { rootSecret } from "#cluster/auth/rules/root-secret.ts";
import { switchAuth } from "#cluster/auth/rules/switch-auth.ts";
import { unmanagedNames } from "#cluster/auth/rules/unmanaged-names.ts";
import { awaitNetworkPolicy } from "#cluster/exposure/rules/await-network-policy.ts";
import { clientServiceRule } from "#cluster/exposure/rules/client-service.ts";
import { disruptionBudgetRule } from "#cluster/exposure/rules/disruption-budget.ts";
import { headlessServiceRule } from "#cluster/exposure/rules/headless-service.ts";
import { networkPolicyRule } from "#cluster/exposure/rules/network-policy.ts";
import { podMonitorRule } from "#cluster/exposure/rules/pod-monitor.ts";
import { secondBudget } from "#cluster/exposure/rules/second-budget.ts";
import { adoptClaims } from "#cluster/identity/rules/adopt-claims.ts";
import { awaitMembers } from "#cluster/identity/rules/await-members.ts";
import { awaitRestore } from "#cluster/identity/rules/await-restore.ts";
import { bootstrap } from "#cluster/identity/rules/bootstrap.ts";
import { claimsUnclear } from "#cluster/identity/rules/claims-unclear.ts";
import { createRestore } from "#cluster/identity/rules/create-restore.ts";
import { defaultTls } from "#cluster/identity/rules/default-tls.ts";
import { fence } from "#cluster/identity/rules/fence.ts";
import { nameTaken } from "#cluster/identity/rules/name-taken.ts";
import { recordIdentity } from "#cluster/identity/rules/record-identity.ts";
import { recordJoined } from "#cluster/identity/rules/record-joined.ts";
import { restoreFailed } from "#cluster/identity/rules/restore-failed.ts";
import { asleep } from "#cluster/lifecycle/rules/asleep.ts";
import { awaitWakeUp } from "#cluster/lifecycle/rules/await-wake-up.ts";
import { deleting } from "#cluster/lifecycle/rules/deleting.ts";
import { paused } from "#cluster/lifecycle/rules/paused.ts";
import { startSleep } from "#cluster/lifecycle/rules/start-sleep.ts";
import { wakeUp } from "#cluster/lifecycle/rules/wake-up.ts";
import { awaitHealth } from "#cluster/members/rules/await-health.ts";
import { awaitLearner } from "#cluster/members/rules/await-learner.ts";
import { awaitQuorum } from "#cluster/members/rules/await-quorum.ts";
import { deletePeerOfRemoved } from "#cluster/members/rules/delete-peer-of-removed.ts";
import { giveUpLearner } from "#cluster/members/rules/give-up-learner.ts";
import { identifyMember } from "#cluster/members/rules/identify-member.ts";
import { promoteLearner } from "#cluster/members/rules/promote-learner.ts";
import { recreateLearner } from "#cluster/members/rules/recreate-learner.ts";
import { recreatePeer } from "#cluster/members/rules/recreate-peer.ts";
import { removeMember } from "#cluster/members/rules/remove-member.ts";
import { replaceLost } from "#cluster/members/rules/replace-lost.ts";
import { scaleDown } from "#cluster/members/rules/scale-down.ts";
import { scaleUp } from "#cluster/members/rules/scale-up.ts";
import { withdrawLearner } from "#cluster/members/rules/withdraw-learner.ts";
import { backupFirst } from "#cluster/update/rules/backup-first.ts";
import { cancelDowngrade } from "#cluster/update/rules/cancel-downgrade.ts";
import { dropPreviousTemplate } from "#cluster/update/rules/drop-previous-template.ts";
import { enableDowngrade } from "#cluster/update/rules/enable-downgrade.ts";
import { moveLeaderToNewest } from "#cluster/update/rules/move-leader-to-newest.ts";
import { noVersionPath } from "#cluster/update/rules/no-version-path.ts";
import { raftSnapshotFirst } from "#cluster/update/rules/raft-snapshot-first.ts";
import { refusedSpec } from "#cluster/update/rules/refused-spec.ts";
import { restartMember } from "#cluster/update/rules/restart-member.ts";
import { restartStopped } from "#cluster/update/rules/restart-stopped.ts";
import { rollBackMember } from "#cluster/update/rules/roll-back-member.ts";
import { stopUpdate } from "#cluster/update/rules/stop-update.ts";
import { updateMember } from "#cluster/update/rules/update-member.ts";
import { updateMemberUrl } from "#cluster/update/rules/update-member-url.ts";
import { updateStopped } from "#cluster/update/rules/update-stopped.ts";
import { caRotationBlocked } from "#cluster-tls/change/rules/ca-rotation-blocked.ts";
import { rotateCa } from "#cluster-tls/change/rules/rotate-ca.ts";
import { switchTls } from "#cluster-tls/change/rules/switch-tls.ts";
import { certificateExpires } from "#cluster-tls/check/rules/certificate-expires.ts";
import { secretAccessMissing } from "#cluster-tls/check/rules/secret-access-missing.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { awaitCertificates } from "#cluster-tls/issue/rules/await-certificates.ts";
import { certificateRequestRule } from "#cluster-tls/issue/rules/certificate-request.ts";
import { issueCa } from "#cluster-tls/issue/rules/issue-ca.ts";
import { issueCertificate } from "#cluster-tls/issue/rules/issue-certificate.ts";
import { publishClientSecret } from "#cluster-tls/issue/rules/publish-client-secret.ts";
import { renewInPause } from "#cluster-tls/issue/rules/renew-in-pause.ts";
import { trustMapRule } from "#cluster-tls/issue/rules/trust-map.ts";
import { decide, type Plan, type Resting } from "#runtime/decide.ts";
import { CLUSTER_GUARDS } from "./guards.ts";
import type { ClusterSnapshot } from "./snapshot.ts";
import type { ClusterRule, ClusterStep } from "./step.ts";

/** A part of a pass: rules with one purpose. */
export interface ClusterPhase {
  readonly name: string;
  /** One sentence for docs/reference/rules.md. */
  readonly is: string;
  readonly rules: readonly ClusterRule[];
}

/**
 * The behaviour of a cluster, in order: the first rule that returns a step or a wait decides the pass.
 * A comment names the rules that must come later, and what would fail otherwise.
 */
export const CLUSTER_PHASES: readonly ClusterPhase[] = [
  {
    name: "deletion",
    is: "Leave a cluster alone that is being deleted.",
    rules: [
      // Before all others: they would create objects for a cluster that is being deleted.
      deleting,
    ],
  },
  {
    name: "notices",
    is: "Report what a person has to know, also during a pause; these rules change nothing and hold nothing back.",
    // Before `paused`: the notices would be missing during a pause.
    rules: [
      noSpace,
      noVersionPath,
      onEffectiveTls(certificateExpires),
      onEffectiveTls(caRotationBlocked),
      secretAccessMissing,
      unmanagedNames,
      secondBudget,
    ],
  },
  {
    name: "pause and sleep",
    is: "Change nothing during a pause and while the cluster sleeps, except that certificates are renewed.",
    rules: [
      // Before `paused` and `asleep`: certificates would expire during a pause or a sleep.
      onEffectiveTls(renewInPause),
      // Before every rule that changes something: a paused cluster would be changed.
      paused,
      // Before `refusedSpec`: a cluster that sleeps creates nothing from its spec, so nothing has to be refused.
      asleep,
      // Before every rule that waits for members: the time that members have to start counts from the wake-up.
      wakeUp,
    ],
  },
  {
    name: "refusals",
    is: "Stop at what only a person can correct, before anything is created.",
    rules: [
      // Before every rule that creates objects: what is created from a refused spec would have to be deleted again.
      refusedSpec,
      // Before `adoptClaims` and `recordIdentity`: a half-created cluster would stay when one of its names is taken.
      nameTaken,
    ],
  },
  {
    name: "identity",
    is: "Record whether the cluster is new, restored or the one on kept claims, and fence the members that have joined.",
    rules: [
      // Before `adoptClaims`, `createRestore` and `recordIdentity`: they record peer URLs, which depend on spec.tls.
      defaultTls,
      // Before `createRestore` and `recordIdentity`: a cluster that existed before would get a new identity.
      adoptClaims,
      // Before `recordIdentity`: the cluster would start empty instead of with the stored snapshot.
      createRestore,
      // Before `claimsUnclear`: it would reject claims that the restore has not filled yet.
      awaitRestore,
      // Before `claimsUnclear`: it would take the unfilled claims of a failed restore for those of an earlier cluster.
      restoreFailed,
      // Before `recordIdentity`: once an identity is recorded, the claims count as the cluster's own.
      claimsUnclear,
      // Before every rule that creates members: they would have no cluster token and no frozen member list.
      recordIdentity,
      // Before `fence` and every rule that asks which members have joined: the record would be out of date.
      recordJoined,
      // Before `startSleep` and all else: an unfenced member with an emptied volume could bootstrap a second cluster.
      fence,
      // Before every rule that starts or changes members: spec.replicas is 0, so none should run.
      startSleep,
    ],
  },
  {
    name: "network",
    is: "Create the DNS names and the NetworkPolicy that members need from their first start.",
    rules: [
      // Before `issueCa` and `bootstrap`: members find each other by the names that this Service provides.
      headlessServiceRule,
      // Before `bootstrap`: members would be reachable without the NetworkPolicy for a while.
      networkPolicyRule,
      // Before `issueCa` and `bootstrap`: members would run without the NetworkPolicy when its creation is refused.
      awaitNetworkPolicy,
    ],
  },
  {
    name: "certificates",
    is: "Issue and renew certificates, and publish them to applications.",
    rules: [
      // Before `issueCertificate`, which it signs, and `bootstrap`: members must trust the CA from their first start.
      onEffectiveTls(issueCa),
      // Before `issueCertificate`: cert-manager takes its time, and can issue while the operator issues its own certificates.
      onEffectiveTls(certificateRequestRule),
      // Before `recreatePeer` and `awaitQuorum`: members with expired certificates cannot reach a quorum.
      onEffectiveTls(issueCertificate),
      // Before `trustMapRule`: the ConfigMap describes the published certificates.
      onEffectiveTls(publishClientSecret),
      // Before `awaitCertificates`: a Secret that cannot be read would keep the CA bundle from clients.
      onEffectiveTls(trustMapRule),
      // Before `bootstrap`: members would be created without certificates.
      onEffectiveTls(awaitCertificates),
    ],
  },
  {
    name: "first members",
    is: "Create the first members side by side, and recreate the EtcdPeer of a member that has lost it.",
    rules: [
      // Before every rule that waits for members: the first members need each other for a quorum.
      bootstrap,
      // Before `awaitQuorum`: the member that comes back with its data may be needed for the quorum.
      recreatePeer,
    ],
  },
  {
    name: "services",
    is: "Create what clients, evictions and Prometheus need once there are members.",
    rules: [
      // Before `disruptionBudgetRule`: clients need their Service more urgently.
      clientServiceRule,
      // Before `stopUpdate`, `awaitWakeUp`, `identifyMember` and `recreateLearner`: evictions could break the quorum.
      disruptionBudgetRule,
      // Before `stopUpdate`: the metrics of an update that fails would be missing.
      podMonitorRule,
    ],
  },
  {
    name: "failed updates",
    is: "Stop an update when its first member does not come up, roll that member back, and update members that do not run.",
    rules: [
      // Before `stopUpdate` and `rollBackMember`: a healthy member could later be rolled back to an outdated template.
      dropPreviousTemplate,
      // Before `updateStopped`: other members would get the template that fails.
      // Before `awaitQuorum`: a cluster of one member has no quorum while that member does not start.
      stopUpdate,
      // Before `updateStopped` and `awaitQuorum`, for the same reasons.
      rollBackMember,
      // Before `restartStopped`: stopped members may need each other, so all get their template before one starts.
      updateStopped,
      // Before `awaitMembers` and `awaitQuorum`: they would wait for a member that cannot start.
      restartStopped,
    ],
  },
  {
    name: "gates",
    is: "Wait until the cluster has formed, has a quorum, and agrees on its data.",
    rules: [
      // Before every rule below: they assume a cluster that has formed.
      awaitMembers,
      // Before every rule below: they need a linearizable member list.
      awaitQuorum,
      // Before `disarmAlarm` and all changes of membership: the member with the right data could be removed.
      dataDiffers,
      // Before `rootSecret` and all changes of membership: etcd refuses requests while the alarm is raised.
      disarmAlarm,
    ],
  },
  {
    name: "users",
    is: "Make the operator and root administrators of etcd, and switch authentication on or off.",
    rules: [
      // Before `rootPassword`: the password of root is in this Secret.
      rootSecret,
      // Before `rootPassword` and all changes of membership: etcd permits them only to administrators.
      administrators,
      // Before `switchAuth`: root could not log in to switch authentication off again.
      rootPassword,
      switchAuth,
    ],
  },
  {
    name: "preconditions of membership changes",
    is: "Remove what blocks a change of membership, and wait for members that wake up.",
    rules: [
      // Before `awaitWakeUp` and every rule that adds members: none can join while a downgrade is enabled.
      cancelDowngrade,
      // Before `replaceLost` and all other changes: a member that is slow to wake up would be replaced as lost.
      awaitWakeUp,
    ],
  },
  {
    name: "finish membership changes",
    is: "Finish or withdraw additions and removals that have begun, before a new one begins.",
    rules: [
      // Before `identifyMember`: a new member would start before the previous change is complete.
      deletePeerOfRemoved,
      // Before `recreateLearner` and `scaleUp`: a second EtcdPeer or a second member would be created for one intent.
      identifyMember,
      // Before `withdrawLearner`: a member without an EtcdPeer would be overlooked.
      recreateLearner,
      // Before `promoteLearner`: a learner that is no longer wanted would get a vote.
      withdrawLearner,
      // Before `giveUpLearner`: a learner that has just caught up would be removed for being late.
      // Before `removeMember`: a voter would leave before its replacement has a vote.
      promoteLearner,
      // Before `awaitLearner`: a learner that never catches up would block everything below.
      giveUpLearner,
      // Before `scaleDown` and `replaceLost`: a second removal would begin.
      removeMember,
      // Before `awaitLearner` and `scaleUp`: a leader of etcd 3.6 would send raft entries that etcd 3.7 cannot read.
      moveLeaderToNewest,
      // Before every rule below: a second change would begin while a member is joining.
      awaitLearner,
    ],
  },
  {
    name: "heal",
    is: "Correct peer URLs that have changed, and replace members that are lost.",
    rules: [
      // Before `replaceLost`: members cannot dial a member with an outdated URL, so it may only seem lost.
      updateMemberUrl,
      // Before `restartMember`: a second member would be down while it restarts.
      // Before `scaleDown`: the claim of the lost member would be deleted.
      replaceLost,
    ],
  },
  {
    name: "finish restart",
    is: "Restart the member that has a new template.",
    rules: [
      // Before `scaleDown` and `scaleUp`: the membership would change in the middle of a restart.
      restartMember,
    ],
  },
  {
    name: "scale",
    is: "Remove and add members until there are as many voters as spec.replicas.",
    rules: [
      // Before `updateMember`: a member would restart shortly before it is removed.
      scaleDown,
      // Before `rotateCa` and `updateMember`: they need all members.
      scaleUp,
    ],
  },
  {
    name: "update",
    is: "Bring members to what the spec requires: one at a time, after everything that has to precede a restart.",
    rules: [
      // Before `rotateCa`: a rotation would delay the downgrade.
      // Before `updateMember`: members would start an older release before etcd has converted their data.
      enableDowngrade,
      // Before `backupFirst` and `updateMember`: members would restart once more for the new CA.
      onEffectiveTls(rotateCa),
      // Before `backupFirst`: the backup would be out of date once all members have their raft snapshots.
      raftSnapshotFirst,
      // Before `updateMember`: the first restart would not wait for the backup.
      backupFirst,
      // Before `awaitHealth`: the status would not state what the update waits for.
      updateMember,
    ],
  },
  {
    name: "report",
    is: "Report what proceeds by itself.",
    rules: [
      // Before `switchTls`: a member that is down is the more urgent message.
      awaitHealth,
      switchTls,
    ],
  },
];

/** All rules, in the order of their phases. */
export const CLUSTER_RULES: readonly ClusterRule[] = CLUSTER_PHASES.flatMap(({ rules }) => rules);

/** The rule, applied to the TLS configuration that members still use, also once spec.tls has been removed. */
function onEffectiveTls(rule: ClusterRule): ClusterRule {
  return { ...rule, decide: (snapshot) => rule.decide(effectiveTls(snapshot)) };
}

/** The plan for this snapshot. Pure and total. */
export function planCluster(snapshot: ClusterSnapshot, resting?: Resting<ClusterStep>): Plan<ClusterStep> {
  return decide(CLUSTER_RULES, CLUSTER_GUARDS, snapshot, resting);
}
