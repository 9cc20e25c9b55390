import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { memberNamed } from "#cluster/members/members.ts";
import { isDown } from "#cluster/members/standstill.ts";
import { hasPendingRestart } from "#cluster/update/pending-restart.ts";
import type { Draft } from "#kube/kinds.ts";
import { type ClusterSnapshot, peerNamed } from "./snapshot.ts";
import type { ClusterStep } from "./step.ts";
import { hasTrait } from "./step-traits.ts";

/** The EtcdPeer that the step writes; `undefined` for what writes none. */
export function peerIn(step: ClusterStep): Draft<EtcdPeer> | undefined {
  return hasTrait(step, "writesPeer", true) ? step.peer : undefined;
}

/** The EtcdPeer before the step writes it; `undefined` for what writes none, or creates one. */
export function peerBefore(step: ClusterStep): EtcdPeer | undefined {
  return hasTrait(step, "writesPeer", true) && "live" in step ? step.live : undefined;
}

/**
 * Whether the step recreates a pod in which no etcd runs, or in which the only member hangs: that interrupts no member.
 */
export function isHarmless(snapshot: ClusterSnapshot, step: ClusterStep): boolean {
  return hasTrait(step, "remakesPod", true) && isDown(snapshot, step.name);
}

/** The member that the step interrupts, now or when it restarts with its new template. */
export function interruptedBy(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  if (hasTrait(step, "interrupts", "peer"))
    return requiresRestart(snapshot, step) ? step.live.metadata.name : undefined;
  return hasTrait(step, "interrupts", "member") && !isHarmless(snapshot, step) ? step.name : undefined;
}

/** Whether the member has to restart because of this step. A member outside the quorum loses nothing by a restart. */
function requiresRestart(
  snapshot: ClusterSnapshot,
  { live, peer }: { live: EtcdPeer; peer: Draft<EtcdPeer> },
): boolean {
  const { name } = live.metadata;
  const member = memberNamed(snapshot, name);
  if (peer.spec === undefined || member === undefined || member.isLearner || !member.participatesInQuorum) return false;
  return revisionOf(peer.spec) !== revisionOf(live.spec) && !hasPendingRestart(snapshot, live);
}

/**
 * The template that a member has after the step: from its new EtcdPeer, or the one for its next pod. Undefined when the
 * step does not decide it.
 */
export function specAfter(snapshot: ClusterSnapshot, step: ClusterStep): Draft<EtcdPeer>["spec"] {
  return hasTrait(step, "remakesPod", true) ? peerNamed(snapshot, step.name)?.spec : peerIn(step)?.spec;
}

/**
 * The member that the step removes, and the reason: from the step, or as recorded on its EtcdPeer. Undefined for a
 * removal that is withdrawn.
 */
export function leavingBy(snapshot: ClusterSnapshot, step: ClusterStep) {
  if (!hasTrait(step, "member", "leaves")) return undefined;
  if ("peer" in step) return step.removal && { name: step.peer.metadata.name, removal: step.removal };
  return { name: step.name, removal: peerNamed(snapshot, step.name)?.metadata.annotations?.[REMOVAL_ANNOTATION] };
}
