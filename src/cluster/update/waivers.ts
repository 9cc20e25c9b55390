import { type Waivable, type Waiver, waiversIn } from "#api/waivers.ts";
import { present } from "#base/observed.ts";
import { isHealthy, type KnownMember, ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";
import { restartBlocker } from "./fitness.ts";
import { canary, mayBeFixedByRestart } from "./rolling.ts";

/** The waivers that have not expired. */
export const activeWaivers = remembered((snapshot): readonly Waiver[] =>
  waiversIn(snapshot.cluster, snapshot.takenAtMs).waivers.filter(({ untilMs }) => untilMs > snapshot.takenAtMs),
);

export function isWaived(snapshot: ClusterSnapshot, check: Waivable): boolean {
  return activeWaivers(snapshot).some((waiver) => waiver.check === check);
}

/**
 * Why an update waits for the member, as a clause that begins with a verb. Waived checks are skipped, except for the
 * canary.
 */
export function unwaivedBlocker(snapshot: ClusterSnapshot, member: KnownMember): string | undefined {
  return blockerUnlessWaived(
    snapshot,
    member,
    activeWaivers(snapshot).map(({ check }) => check),
  );
}

function blockerUnlessWaived(
  snapshot: ClusterSnapshot,
  member: KnownMember,
  waived: readonly Waivable[],
): string | undefined {
  const why = restartBlocker(snapshot, member);
  // The early return avoids a modified snapshot, for which every cached value would be computed again.
  if (why === undefined || waived.length === 0) return why;
  // No waiver covers the canary: otherwise the next member could fail in the same way.
  if (canary(snapshot)?.id === member.id) return why;
  if (!isHealthy(snapshot, member)) return waived.includes("members-healthy") ? undefined : why;
  return restartBlocker(asWaived(snapshot, member, waived), member);
}

/** A copy of the snapshot in which the waived checks of the member pass. */
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
 * The waivers without which this step would wait, as clauses to append; "" when none.
 * @param name the member that is updated or restarted @param isUnseen whether Kubernetes has yet to confirm that
 * evictions are blocked
 */
export function waivedText(snapshot: ClusterSnapshot, name: string, isUnseen = false): string {
  const others = ownVoters(snapshot).filter((member) => member.name !== name);
  const active = activeWaivers(snapshot);
  const used = active.filter(({ check }) => {
    if (check === "evictions-held-back") return isUnseen;
    const rest = active.map((each) => each.check).filter((each) => each !== check);
    return others.some(
      (member) => blockerUnlessWaived(snapshot, member, rest) !== undefined && !mayBeFixedByRestart(snapshot, member),
    );
  });
  return used.map(({ check, until }) => `; ${check} is waived until ${until}`).join("");
}
