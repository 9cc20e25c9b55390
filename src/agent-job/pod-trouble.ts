import type { Workers } from "#agent-job/job-state.ts";
import { AGENT_CONTAINER } from "#api/names.ts";
import type { Pod } from "#kube/kinds.ts";
import { whyNotRunning } from "#kube/pod.ts";

// Why a pod of the agent does not run.

/** https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/images/types.go */
export const IMAGE_REASONS = [
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
];

/** Warning of the kubelet when it cannot mount a Secret. */
export const NO_SECRET = /secrets? "[^"]*" not found|non-existent secret key/i;

/** How a pod without a report ended. */
export function endText(pod: Pod, workers: Workers = [AGENT_CONTAINER]): string {
  return whyNotRunning(pod, workers.at(-1) ?? "") ?? `pod ${pod.metadata.name} ended`;
}
