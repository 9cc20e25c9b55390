import type { KnownMember } from "#cluster/members.ts";
import { podlessForMs, triedForMs, unfitForMs } from "#cluster/patience.ts";
import { canary, stoppedUpdate } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isYoung } from "#cluster/standstill.ts";

/** The first member that got something new, when its time to come up is over by all that was seen of it, and that is not told yet. */
export function overdueCanary(snapshot: ClusterSnapshot): KnownMember | undefined {
  const first = canary(snapshot);
  if (first === undefined || stoppedUpdate(snapshot) !== undefined) return undefined;
  const since = Date.parse(snapshot.cluster.status?.update?.since ?? "");
  const spansMs = [unfitForMs(snapshot, first), Math.abs(snapshot.takenAtMs - since), onTrialForMs(snapshot, first)];
  return spansMs.every((ms) => ms >= snapshot.memberTimeoutMs) ? first : undefined;
}

/**
 * How long it has had what it was restarted with, in milliseconds: time before that says nothing of it. A pod may be made anew more often than the
 * first one may take; and without one, only time without one is known to be from after the restart.
 */
function onTrialForMs(snapshot: ClusterSnapshot, first: KnownMember): number {
  if (!snapshot.pods.has(first.name)) return podlessForMs(snapshot, first);
  return isYoung(snapshot, first) ? triedForMs(snapshot, first) : Number.POSITIVE_INFINITY;
}
