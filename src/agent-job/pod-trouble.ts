import { AGENT_CONTAINER } from "#api/names.ts";
import type { Pod } from "#kube/kinds.ts";
import { whyNotRunning } from "#kube/pod.ts";
import {
  type Attempted,
  hasSucceeded,
  isRunning,
  lastEnded,
  statusesOf,
  type Workers,
  workingPod,
} from "./job-state.ts";

// Why a pod of the agent does not run.

/** https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/images/types.go */
const IMAGE_REASONS = [
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
];

/** Warning of the kubelet when it cannot mount a Secret. */
const NO_SECRET = /secrets? "[^"]*" not found|non-existent secret key/i;

interface PodTrouble<Working> {
  readonly reason: "PodPending" | "ImageUnavailable" | "SecretMissing" | "PodRefused" | "Retrying" | Working;
  readonly message: string;
}

interface Given<Working> {
  /** Containers that do the work; the pod ends with the last of them. */
  readonly workers: Workers;
  /** Kubernetes' warnings about the Job or its pod. */
  readonly warnings: readonly string[];
  /** Secrets that the pod mounts and cannot start without. */
  readonly secretNames: readonly string[];
  /** What the last attempt reported, if it failed. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined;
  /** The reason while a pod has succeeded, and its Job has not ended yet. */
  readonly working: Working;
}

/** Why no pod of the Job is running; `undefined` when one is. */
export function podTroubleOf<Working extends string>(
  attempted: Attempted,
  { workers, warnings, secretNames, failure, working }: Given<Working>,
): PodTrouble<Working> | undefined {
  const pod = workingPod(attempted);
  const [warning] = warnings;
  if (pod !== undefined) return ofPod(pod, workers, warnings, secretNames);
  const { name } = attempted.job.metadata;
  if (warning !== undefined)
    return { reason: "PodRefused", message: `the pod of Job ${name} cannot be created: ${warning}` };
  const last = lastEnded(attempted.pods);
  if (last === undefined) return { reason: "PodPending", message: `the pod of Job ${name} is not created yet` };
  if (hasSucceeded(last)) return { reason: working, message: `the pod of Job ${name} has succeeded` };
  const why = failure === undefined ? endText(last, workers) : `${failure.reason}: ${failure.message}`;
  return { reason: "Retrying", message: `an attempt of Job ${name} has failed and is retried: ${why}` };
}

function ofPod(
  pod: Pod,
  workers: Workers,
  warnings: readonly string[],
  secretNames: readonly string[],
): PodTrouble<never> | undefined {
  const { name } = pod.metadata;
  if (pod.metadata.deletionTimestamp !== undefined)
    return { reason: "PodPending", message: `pod ${name} is being deleted; a new pod follows when it is gone` };
  if (isRunning(pod, workers)) return undefined;
  const why = `pod ${name}: ${whyNotRunning(pod, workers.at(-1) ?? "") ?? "it is starting"}`;
  if (statusesOf(pod, workers).some(({ state }) => IMAGE_REASONS.includes(state?.waiting?.reason ?? "")))
    return { reason: "ImageUnavailable", message: why };
  const missing = warnings.find((warning) => NO_SECRET.test(warning));
  if (missing !== undefined)
    return {
      reason: "SecretMissing",
      message: `pod ${name} waits for a Secret, or a key in one, among ${secretNames.join(", ")}: ${missing}`,
    };
  const [warning] = warnings;
  return { reason: "PodPending", message: warning === undefined ? why : `${why}; Kubernetes warns: ${warning}` };
}

/** How a pod without a report ended. */
export function endText(pod: Pod, workers: Workers = [AGENT_CONTAINER]): string {
  return whyNotRunning(pod, workers.at(-1) ?? "") ?? `pod ${pod.metadata.name} ended`;
}
