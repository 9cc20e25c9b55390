import { FENCE, INITIAL_CLUSTER_ANNOTATION } from "#api/names.ts";
import { startAnnotations } from "#peer/desired/etcd-flags.ts";
import { hasJoined } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Fences the running pod too: its container may restart on a volume that was emptied, with the pod's annotations of
 * that time. The running process is not affected.
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
