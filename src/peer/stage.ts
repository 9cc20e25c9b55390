import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { Stage } from "#runtime/urgency.ts";

/** How far the member has come, by what its EtcdPeer says. @param peer undefined: it is gone */
export function peerStage(peer: EtcdPeer | undefined): Stage {
  if (peer === undefined) return "settled";
  const ready = peer.status?.conditions?.find(({ type }) => type === "Ready");
  const isDone = ready?.status === "True" && ready.observedGeneration === (peer.metadata.generation ?? 0);
  // It is fenced once it has joined: until its pod is, too, it could begin anew.
  if (peer.spec.bootstrap === undefined) return isDone ? "settled" : "finishing";
  return "underWay";
}
