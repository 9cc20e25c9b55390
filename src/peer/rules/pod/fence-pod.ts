import { FENCE, INITIAL_CLUSTER_ANNOTATION } from "#api/names.ts";
import { startAnnotations } from "#peer/desired/etcd-flags.ts";
import { hasJoined } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * The running pod is fenced too: its container may start again, on a volume that was emptied meanwhile, with what the pod says
 * then. The process that runs is not touched.
 */
export const fencePod: PeerRule = {
  name: "fence-pod",
  decide(snapshot) {
    const { pod } = snapshot;
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || !hasJoined(snapshot)) return undefined;
    if (pod.metadata.annotations?.[INITIAL_CLUSTER_ANNOTATION] === FENCE) return undefined;
    const because = `the next start of the container in ${pod.metadata.name} must not bootstrap`;
    return step("fence-pod", because, { do: "annotatePod", pod, annotations: startAnnotations(snapshot) });
  },
};
