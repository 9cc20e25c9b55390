import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { recheckMs } from "#base/recheck.ts";
import { holdsEvictions, isBudgetSeen } from "#cluster/exposure/desired/disruption-budget.ts";
import { possibleOne } from "#cluster/first-possible.ts";
import { isSleepHeld, whyRestartHeld } from "#cluster/members/dying-claims.ts";
import { isHeldByCertificates } from "#cluster/members/growth.ts";
import {
  idOf,
  intendedPeers,
  isResizing,
  type KnownMember,
  leaderOf,
  ownVoters,
  votersOf,
} from "#cluster/members/members.ts";
import { isDown } from "#cluster/members/standstill.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { leadershipTarget } from "#cluster/update/leadership-target.ts";
import { isOutdated } from "#cluster/update/next-template.ts";
import { isAboutToRestart, isTemplateReady, mayBeFixedByRestart } from "#cluster/update/pending-restart.ts";
import { wishText } from "#cluster/update/update-status.ts";
import { isWaived, unwaivedBlocker, waivedText } from "#cluster/update/waivers.ts";
import { templateOf } from "#cluster/update/wanted-template.ts";
import { dueUrl } from "#cluster-tls/change/peer-scheme.ts";
import { step, type Waiting, wait } from "#runtime/decide.ts";

/**
 * Recheck intervals in case a watch event is lost, in milliseconds. Normally an event of the ReplicaSet or the
 * PodDisruptionBudget starts the next pass.
 */
const HELD = { firstMs: 2_000, maxMs: 10_000 };

/**
 * Restarts the member with a pending restart, once its ReplicaSet is ready, evictions are blocked and it does not lead.
 */
export const restartMember: ClusterRule = {
  name: "restart-member",
  decide(snapshot) {
    if (isSleepHeld(snapshot)) return undefined;
    // A member that is about to join comes first: one change at a time.
    if (canGrowFirst(snapshot) || intendedPeers(snapshot).length > 0) return undefined;
    const pending = updateOrder(snapshot).filter(({ name }) => {
      const peer = peerNamed(snapshot, name);
      // An outdated template must be replaced first, because it changed or its release is no longer reachable.
      if (peer === undefined || !isAboutToRestart(snapshot, peer) || isOutdated(snapshot, peer)) return false;
      // While scaling, a pod that must stay because of its claim blocks nothing: scaling may resolve it.
      return !isResizing(snapshot) || whyRestartHeld(snapshot, name) === undefined;
    });
    // Several restarts may be pending at once, after a change from OnDelete.
    const member = pending.find((each) => !each.participatesInQuorum) ?? pending[0];
    const peer = member === undefined ? undefined : peerNamed(snapshot, member.name);
    const pod = member === undefined ? undefined : snapshot.pods.get(member.name);
    if (member === undefined || peer === undefined || pod === undefined) return undefined;
    const { name } = member;
    if (!isTemplateReady(peer)) {
      const refusal = refusalOf(peer);
      const because = `ReplicaSet ${name} does not have the new pod template of ${name} yet${refusal === undefined ? "" : `: ${refusal.message}`}`;
      const sinceMs = snapshot.takenAtMs - Date.parse(refusal?.lastTransitionTime ?? "");
      return waitToRestart(snapshot, because, { warn: sinceMs >= snapshot.memberTimeoutMs });
    }
    // A waiver covers only the confirmation by Kubernetes: an eviction that was already granted still removes a member.
    const isUnseen = !isBudgetSeen(snapshot);
    if (!holdsEvictions(snapshot) || (isUnseen && !isWaived(snapshot, "EvictionsHeldBack")))
      return waitToRestart(snapshot, "waiting until the PodDisruptionBudget blocks evictions");
    const unfit = ownVoters(snapshot).find((other) => other.id !== member.id && isUnfit(snapshot, other));
    if (unfit !== undefined)
      return waitToRestart(snapshot, `${name} restarts once ${unfit.name} ${unwaivedBlocker(snapshot, unfit)}`);
    const successor = leadershipTarget(snapshot, member);
    // Only the leader itself can transfer the leadership. If it does not answer, it is restarted anyway.
    const answers = snapshot.endpoints.get(name)?.is === "present";
    if (leaderOf(snapshot)?.id === member.id && answers && successor !== undefined) {
      const because = `${name} leads and is about to restart; ${successor.name} takes over`;
      return step(because, { do: "moveLeader", from: name, to: successor.name, id: idOf(successor) });
    }
    const url = dueUrl(snapshot, peer);
    if (url !== undefined) {
      const because = `${name} is about to restart with peer URL ${url}: the member list is updated first`;
      return step(because, { do: "updateMember", name, id: idOf(member), peerUrl: url });
    }
    const waived = waivedText(snapshot, name, isUnseen);
    const wish = wishText(snapshot, templateOf(peer));
    const because = `${name} restarts with etcd ${peer.spec.version}${wish}${waived}`;
    const restart = step(because, { do: "restartPod", name, pod } as const);
    // While scaling, a member that is down and may not restart blocks nothing: restart-stopped.ts has reported why.
    return isResizing(snapshot) && isDown(snapshot, name) ? possibleOne(snapshot, [restart]) : restart;
  },
};

/**
 * Whether the member participates in the quorum but is unfit, and its own update would not fix it. A guard covers
 * members outside the quorum.
 */
function isUnfit(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return (
    member.participatesInQuorum &&
    unwaivedBlocker(snapshot, member) !== undefined &&
    !mayBeFixedByRestart(snapshot, member)
  );
}

/** A wait that blocks all later rules, except while scaling: scaling must not depend on another controller's write. */
function waitToRestart(snapshot: ClusterSnapshot, because: string, { warn = false } = {}): Waiting | undefined {
  if (isResizing(snapshot)) return undefined;
  const { startTime } = snapshot.cluster.status?.update ?? {};
  const againMs =
    startTime === undefined ? HELD.firstMs : recheckMs(Math.abs(snapshot.takenAtMs - Date.parse(startTime)), HELD);
  return wait(because, againMs, { warn });
}

/** The condition of the EtcdPeer that reports why its controller is stuck, such as a refused or foreign ReplicaSet. */
function refusalOf({ status }: EtcdPeer) {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "False" && ready.reason !== "PodPending" ? ready : undefined;
}

/**
 * Whether scaling up comes first: with fewer than three voters no member can be spared, and the new members do not wait
 * for a restart.
 */
function canGrowFirst(snapshot: ClusterSnapshot): boolean {
  const voters = votersOf(snapshot).length;
  return voters < 3 && snapshot.cluster.spec.replicas > voters && !isHeldByCertificates(snapshot);
}

/** The order of updates: first members that an update may fix, last the leader, so that the leadership moves once. */
export function updateOrder(snapshot: ClusterSnapshot): readonly KnownMember[] {
  const leader = leaderOf(snapshot);
  const [lead = [], others = []] = [true, false].map((is) =>
    ownVoters(snapshot).filter(({ id }) => (id === leader?.id) === is),
  );
  const order = [...[...others].reverse(), ...lead];
  const weight = (member: KnownMember) => Number(mayBeFixedByRestart(snapshot, member));
  return order.sort((a, b) => weight(b) - weight(a));
}
