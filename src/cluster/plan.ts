import type { Removal } from "#api/names.ts";
import type { ClusterIdentity } from "#api/v1alpha1/cluster.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { adoptClaims } from "#cluster/rules/adopt-claims.ts";
import { awaitHealth } from "#cluster/rules/await-health.ts";
import { awaitLearner } from "#cluster/rules/await-learner.ts";
import { awaitMembers } from "#cluster/rules/await-members.ts";
import { awaitQuorum } from "#cluster/rules/await-quorum.ts";
import { awaitVerdict } from "#cluster/rules/await-verdict.ts";
import { bootstrap } from "#cluster/rules/bootstrap.ts";
import { claimTaken } from "#cluster/rules/claim-taken.ts";
import { clientServiceRule } from "#cluster/rules/client-service.ts";
import { deleting } from "#cluster/rules/deleting.ts";
import { disarmAlarm } from "#cluster/rules/disarm-alarm.ts";
import { disruptionBudgetRule } from "#cluster/rules/disruption-budget.ts";
import { fence } from "#cluster/rules/fence.ts";
import { giveUpLearner } from "#cluster/rules/give-up-learner.ts";
import { headlessServiceRule } from "#cluster/rules/headless-service.ts";
import { identifyMember } from "#cluster/rules/identify-member.ts";
import { nameTaken } from "#cluster/rules/name-taken.ts";
import { paused } from "#cluster/rules/paused.ts";
import { promoteLearner } from "#cluster/rules/promote-learner.ts";
import { recordIdentity } from "#cluster/rules/record-identity.ts";
import { recordJoined } from "#cluster/rules/record-joined.ts";
import { refuseUpgrade } from "#cluster/rules/refuse-upgrade.ts";
import { removeMember } from "#cluster/rules/remove-member.ts";
import { replaceLost } from "#cluster/rules/replace-lost.ts";
import { restoreLearner } from "#cluster/rules/restore-learner.ts";
import { restorePeer } from "#cluster/rules/restore-peer.ts";
import { retirePeer } from "#cluster/rules/retire-peer.ts";
import { scaleDown } from "#cluster/rules/scale-down.ts";
import { scaleUp } from "#cluster/rules/scale-up.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { MemberId } from "#etcd/types.ts";
import type { Draft, PodDisruptionBudget, Service } from "#kube/kinds.ts";
import { decide, type Guard, type Plan, type Rule } from "#runtime/decide.ts";

/** Everything that this room can do to the world: one write each. */
export type ClusterStep =
  | { readonly do: "recordIdentity"; readonly identity: ClusterIdentity }
  | { readonly do: "recordJoined"; readonly names: readonly string[] }
  | { readonly do: "createService"; readonly service: Draft<Service> }
  | { readonly do: "replaceService"; readonly live: Service; readonly service: Draft<Service> }
  | { readonly do: "createBudget"; readonly budget: Draft<PodDisruptionBudget> }
  | { readonly do: "replaceBudget"; readonly live: PodDisruptionBudget; readonly budget: Draft<PodDisruptionBudget> }
  | { readonly do: "createPeer"; readonly peer: Draft<EtcdPeer> }
  | { readonly do: "replacePeer"; readonly live: EtcdPeer; readonly peer: Draft<EtcdPeer> }
  | { readonly do: "markRemoval"; readonly peer: EtcdPeer; readonly removal: Removal | undefined }
  | { readonly do: "releaseClaim"; readonly peer: EtcdPeer; readonly finalizer: string }
  | { readonly do: "deletePeer"; readonly peer: EtcdPeer }
  | { readonly do: "addLearner"; readonly name: string; readonly peerUrl: string }
  | { readonly do: "promote"; readonly name: string; readonly id: MemberId }
  | { readonly do: "removeMember"; readonly name: string; readonly id: MemberId }
  | { readonly do: "disarmAlarm"; readonly id: MemberId }
  | { readonly do: "moveLeader"; readonly from: string; readonly to: string; readonly id: MemberId };

export type ClusterRule = Rule<ClusterSnapshot, ClusterStep>;
export type ClusterGuard = Guard<ClusterSnapshot, ClusterStep>;

/** THE behaviour of a cluster: the first rule with an opinion wins, so the place in this list is part of each rule. */
export const CLUSTER_RULES: readonly ClusterRule[] = [
  deleting, // first: a cluster that goes is left to go
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
  promoteLearner, // a member that is under way arrives before anybody leaves
  giveUpLearner, // unless it takes too long
  removeMember, // a removal that is on record is finished, or taken back, before another one begins
  awaitLearner, // nothing else begins while a member is on its way
  replaceLost, // the lost before the surplus: a sick cluster is healed first
  scaleDown,
  scaleUp,
  refuseUpgrade, // tells even while a member is sick
  awaitHealth,
];

/** What is to be done about this snapshot. Pure and total. */
export function planCluster(snapshot: ClusterSnapshot): Plan<ClusterStep> {
  return decide(CLUSTER_RULES, CLUSTER_GUARDS, snapshot);
}
