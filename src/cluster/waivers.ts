import { type Waivable, type Waiver, waiversIn } from "#api/waivers.ts";
import { present } from "#base/observed.ts";
import { whyUnfit } from "#cluster/fitness.ts";
import { isHealthy, type KnownMember, ownVoters } from "#cluster/members.ts";
import { canary, isMendedByTurn } from "#cluster/rolling.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";

/** The waivers whose time is not over. */
export const activeWaivers = remembered((snapshot): readonly Waiver[] =>
  waiversIn(snapshot.cluster, snapshot.takenAtMs).waivers.filter(({ untilMs }) => untilMs > snapshot.takenAtMs),
);

export function isWaived(snapshot: ClusterSnapshot, check: Waivable): boolean {
  return activeWaivers(snapshot).some((waiver) => waiver.check === check);
}

/** Why an update waits for the member, as a clause that begins with a verb: why it is unfit, but for what is waived of all but the canary. */
export function whyAwaited(snapshot: ClusterSnapshot, member: KnownMember): string | undefined {
  return whyAwaitedBut(
    snapshot,
    member,
    activeWaivers(snapshot).map(({ check }) => check),
  );
}

function whyAwaitedBut(
  snapshot: ClusterSnapshot,
  member: KnownMember,
  waived: readonly Waivable[],
): string | undefined {
  const why = whyUnfit(snapshot, member);
  // Of another snapshot all would have to be worked out anew.
  if (why === undefined || waived.length === 0) return why;
  // Whether the first one has come up with what is new nobody waives: else the next one would meet the same.
  if (canary(snapshot)?.id === member.id) return why;
  if (!isHealthy(snapshot, member)) return waived.includes("members-healthy") ? undefined : why;
  return whyUnfit(asWaived(snapshot, member, waived), member);
}

/** The snapshot in which what is waived of the member is as it should be. */
function asWaived(snapshot: ClusterSnapshot, { name }: KnownMember, waived: readonly Waivable[]): ClusterSnapshot {
  const pod = snapshot.pods.get(name);
  const answer = snapshot.endpoints.get(name);
  const isReady = waived.includes("members-ready") && pod !== undefined;
  const isCaughtUp = waived.includes("members-caught-up") && answer?.is === "present";
  const furthest = { raftAppliedIndex: Number.MAX_SAFE_INTEGER };
  return {
    ...snapshot,
    pods: isReady ? new Map(snapshot.pods).set(name, readied(pod)) : snapshot.pods,
    endpoints: isCaughtUp
      ? new Map(snapshot.endpoints).set(name, present({ ...answer.value, ...furthest }))
      : snapshot.endpoints,
  };
}

function readied(pod: Pod): Pod {
  const status = { ...pod.status, conditions: [{ type: "Ready", status: "True" }] } as NonNullable<Pod["status"]>;
  return { ...pod, status };
}

/**
 * By which waivers a step is made that would wait without them, as clauses to add; empty when by none.
 * @param name who restarts, or has its turn @param isUnseen whether Kubernetes has yet to see that evictions are held back
 */
export function waivedText(snapshot: ClusterSnapshot, name: string, isUnseen = false): string {
  const others = ownVoters(snapshot).filter((member) => member.name !== name);
  const active = activeWaivers(snapshot);
  const used = active.filter(({ check }) => {
    if (check === "evictions-held-back") return isUnseen;
    const rest = active.map((each) => each.check).filter((each) => each !== check);
    return others.some(
      (member) => whyAwaitedBut(snapshot, member, rest) !== undefined && !isMendedByTurn(snapshot, member),
    );
  });
  return used.map(({ check, until }) => `; ${check} is waived until ${until}`).join("");
}
