import { type Waivable, type Waiver, waiversIn } from "#api/waivers.ts";
import type { Lack } from "#cluster/members/member-state.ts";
import { type KnownMember, ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import { canary } from "./canary.ts";
import { neededText, restartBlocker } from "./fitness.ts";
import { mayBeFixedByRestart } from "./pending-restart.ts";

/** The waivers that have not expired. Of several for one check, the last to end: the status lists each check once. */
export const activeWaivers = remembered((snapshot): readonly Waiver[] => {
  const longest = new Map<Waivable, Waiver>();
  for (const waiver of waiversIn(snapshot.cluster, snapshot.takenAtMs).waivers)
    if (waiver.untilMs > (longest.get(waiver.check)?.untilMs ?? snapshot.takenAtMs)) longest.set(waiver.check, waiver);
  return [...longest.values()];
});

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
  // No waiver covers the canary: otherwise the next member could fail in the same way.
  if (canary(snapshot)?.id === member.id) return restartBlocker(member);
  return neededText(member.lacks.find((lack) => !waived.some((check) => check === WAIVED_BY[lack])));
}

/** The check to waive so that an update ignores this lack. The lacks `pod` and `revision` cannot be waived. */
const WAIVED_BY: Readonly<Partial<Record<Lack, Waivable>>> = {
  health: "MembersHealthy",
  etcdReadiness: "MembersReady",
  sidecarReadiness: "MembersReady",
  raftLog: "MembersCaughtUp",
};

/**
 * The waivers without which this step would wait, as clauses to append; "" when none.
 * @param name the member that is updated or restarted @param isUnseen whether Kubernetes has yet to confirm that
 * evictions are blocked
 */
export function waivedText(snapshot: ClusterSnapshot, name: string, isUnseen = false): string {
  const others = ownVoters(snapshot).filter((member) => member.name !== name);
  const active = activeWaivers(snapshot);
  const used = active.filter(({ check }) => {
    if (check === "EvictionsHeldBack") return isUnseen;
    const rest = active.map((each) => each.check).filter((each) => each !== check);
    return others.some(
      (member) => blockerUnlessWaived(snapshot, member, rest) !== undefined && !mayBeFixedByRestart(snapshot, member),
    );
  });
  return used.map(({ check, until }) => `; ${check} is waived until ${until}`).join("");
}
