import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { recheckMs } from "#base/recheck.ts";
import { dueUrl } from "#cluster/certificates/scheme.ts";
import { holdsEvictions, isBudgetSeen } from "#cluster/desired/disruption-budget.ts";
import { isKeptAwake, whyHeldUp } from "#cluster/dying-claims.ts";
import { possibleOne } from "#cluster/first-possible.ts";
import { isHeldByCertificates } from "#cluster/growth.ts";
import { heirOf } from "#cluster/heir.ts";
import {
  idOf,
  intendedPeers,
  isResizing,
  type KnownMember,
  leaderOf,
  ownVoters,
  takesPart,
  votersOf,
} from "#cluster/members.ts";
import { isAboutToRestart, isMendedByTurn, isOutdated, isTemplateReady, templateOf } from "#cluster/rolling.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { isDown } from "#cluster/standstill.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wishText } from "#cluster/update-status.ts";
import { isWaived, waivedText, whyAwaited } from "#cluster/waivers.ts";
import { step, type Wait, wait } from "#runtime/decide.ts";

/** Events tell when a ReplicaSet or a budget is seen; this is for those that never come, as where a write is refused for days. In milliseconds. */
const HELD = { firstMs: 2_000, maxMs: 10_000 };

/** The member whose turn it is restarts: its ReplicaSet is ready, evictions are held back, and it does not lead. */
export const restartMember: ClusterRule = {
  name: "restart-member",
  decide(snapshot) {
    if (isKeptAwake(snapshot)) return undefined;
    // Who is about to join does so first: one at a time.
    if (canGrowFirst(snapshot) || intendedPeers(snapshot).length > 0) return undefined;
    const turns = turnOrder(snapshot).filter(({ name }) => {
      const peer = peerNamed(snapshot, name);
      // When the wish has changed meanwhile, or there is no way there any more, its EtcdPeer has to be written first.
      if (peer === undefined || !isAboutToRestart(snapshot, peer) || isOutdated(snapshot, peer)) return false;
      // Nor is anything held for the sake of who has to stay, when members are to come or go: that may be what helps it.
      return !isResizing(snapshot) || whyHeldUp(snapshot, name) === undefined;
    });
    // All of them may have their turns at once, when people were to restart them until now.
    const member = turns.find((each) => !takesPart(snapshot, each)) ?? turns[0];
    const peer = member === undefined ? undefined : peerNamed(snapshot, member.name);
    const pod = member === undefined ? undefined : snapshot.pods.get(member.name);
    if (member === undefined || peer === undefined || pod === undefined) return undefined;
    const { name } = member;
    if (!isTemplateReady(peer)) {
      const refusal = refusalOf(peer);
      const because = `ReplicaSet ${name} has yet to take over what ${name} is to run next${refusal === undefined ? "" : `: ${refusal.message}`}`;
      const sinceMs = snapshot.takenAtMs - Date.parse(refusal?.lastTransitionTime ?? "");
      return held(snapshot, because, { warn: sinceMs >= snapshot.memberTimeoutMs });
    }
    // Only Kubernetes' word can be waived: an eviction that is granted already takes a member away.
    const isUnseen = !isBudgetSeen(snapshot);
    if (!holdsEvictions(snapshot) || (isUnseen && !isWaived(snapshot, "evictions-held-back")))
      return held(snapshot, "Kubernetes has yet to see that no member may be evicted now");
    const unfit = ownVoters(snapshot).find((other) => other.id !== member.id && isUnfit(snapshot, other));
    if (unfit !== undefined)
      return held(snapshot, `${name} restarts once ${unfit.name} ${whyAwaited(snapshot, unfit)}`);
    const heir = heirOf(snapshot, member);
    // Only the leader itself can be asked to hand the lead over. When it gives no answer, it restarts all the same.
    const answers = snapshot.endpoints.get(name)?.is === "present";
    if (leaderOf(snapshot)?.id === member.id && answers && heir !== undefined) {
      const because = `${name} leads and is about to restart; ${heir.name} takes over`;
      return step("restart-member", because, { do: "moveLeader", from: name, to: heir.name, id: idOf(heir) });
    }
    const url = dueUrl(snapshot, peer);
    if (url !== undefined) {
      const because = `${name} is about to restart, and is to be reached at ${url}: its URL is changed first`;
      return step("restart-member", because, { do: "updateMember", name, id: idOf(member), peerUrl: url });
    }
    const waived = waivedText(snapshot, name, isUnseen);
    const wish = wishText(snapshot, templateOf(peer));
    const because = `${name} restarts with etcd ${peer.spec.version}${wish}${waived}`;
    const restart = step("restart-member", because, { do: "restartPod", name, pod } as const);
    // Nor for that of one in which nothing runs, and which may not restart: why, has been told (restart-stopped.ts).
    return isResizing(snapshot) && isDown(snapshot, name) ? possibleOne(snapshot, [restart]) : restart;
  },
};

/** Whether it takes part, and is not to be counted on before something else than its own turn helps it. Of those that take no part a guard tells. */
function isUnfit(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return takesPart(snapshot, member) && whyAwaited(snapshot, member) !== undefined && !isMendedByTurn(snapshot, member);
}

/** Nothing else begins meanwhile, unless other members are wanted than there are: that must not depend on somebody else's write. */
function held(snapshot: ClusterSnapshot, because: string, { warn = false } = {}): Wait | undefined {
  if (isResizing(snapshot)) return undefined;
  const { since } = snapshot.cluster.status?.update ?? {};
  const againMs =
    since === undefined ? HELD.firstMs : recheckMs(Math.abs(snapshot.takenAtMs - Date.parse(since)), HELD);
  return wait("restart-member", because, againMs, { warn });
}

/** What keeps the room `peer` from its work, as it has told: its ReplicaSet may be refused, or somebody else's. */
function refusalOf({ status }: EtcdPeer) {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "False" && ready.reason !== "PodPending" ? ready : undefined;
}

/** Whether nobody can be spared now, and somebody can once there are as many members as are wanted, who wait for nobody's restart. */
function canGrowFirst(snapshot: ClusterSnapshot): boolean {
  const voters = votersOf(snapshot).length;
  return voters < 3 && snapshot.cluster.spec.replicas > voters && !isHeldByCertificates(snapshot);
}

/** Members in the order in which they have their turns: first those that it may mend, and the leader last, so that its leadership moves once. */
export function turnOrder(snapshot: ClusterSnapshot): readonly KnownMember[] {
  const leader = leaderOf(snapshot);
  const [lead = [], others = []] = [true, false].map((is) =>
    ownVoters(snapshot).filter(({ id }) => (id === leader?.id) === is),
  );
  const order = [...[...others].reverse(), ...lead];
  const weight = (member: KnownMember) => Number(isMendedByTurn(snapshot, member));
  return order.sort((a, b) => weight(b) - weight(a));
}
