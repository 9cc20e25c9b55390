import type { KnownMember } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { canary, stoppedUpdate } from "./rolling.ts";

/** The canary, when its start timeout is over by every clock, and the update is not stopped yet. */
export function overdueCanary(snapshot: ClusterSnapshot): KnownMember | undefined {
  const first = canary(snapshot);
  if (first === undefined || stoppedUpdate(snapshot) !== undefined) return undefined;
  const since = Date.parse(snapshot.cluster.status?.update?.since ?? "");
  const spansMs = [
    first.history.unfitForMs,
    Math.abs(snapshot.takenAtMs - since),
    withNewTemplateForMs(snapshot, first),
  ];
  return spansMs.every((ms) => ms >= snapshot.memberTimeoutMs) ? first : undefined;
}

/**
 * How long the canary has had its new template, in milliseconds. The pod may be recreated more often than the timeout.
 * Without a pod, only the time without one is certain to be after the restart.
 */
function withNewTemplateForMs(snapshot: ClusterSnapshot, first: KnownMember): number {
  if (!snapshot.pods.has(first.name)) return first.history.podlessForMs;
  return first.container.isYoung ? first.history.triedForMs : Number.POSITIVE_INFINITY;
}
