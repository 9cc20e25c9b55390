import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { Stage } from "#runtime/urgency.ts";

/** The stage of the member by its EtcdPeer. @param peer undefined when it does not exist */
export function peerStage(peer: EtcdPeer | undefined): Stage {
  if (peer === undefined) return "settled";
  const ready = peer.status?.conditions?.find(({ type }) => type === "Ready");
  const isDone = ready?.status === "True" && ready.observedGeneration === (peer.metadata.generation ?? 0);
  // spec.bootstrap is removed when the member has joined. Until the pod is fenced too, it could bootstrap again.
  if (peer.spec.bootstrap === undefined) return isDone ? "settled" : "finishing";
  return "underWay";
}
