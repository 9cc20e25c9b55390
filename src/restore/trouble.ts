import type { Attempted } from "#agent-job/job-state.ts";
import { isRunning, lastEnded, statusesOf, workingPod } from "#agent-job/job-state.ts";
import { endText, IMAGE_REASONS, NO_SECRET } from "#agent-job/pod-trouble.ts";
import { FINISH_CONTAINER } from "#api/names.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { secretNamesOf } from "#restore/object.ts";
import { FILLERS, failureOf } from "#restore/pods.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { Lack } from "#restore/source.ts";

/** Why no pod of the Job is running; `undefined` when one is. */
export function troubleOf(snapshot: RestoreSnapshot, filling: Attempted): Lack | undefined {
  const pod = workingPod(filling);
  if (pod === undefined) return withoutPod(snapshot, filling);
  const { name } = pod.metadata;
  if (pod.metadata.deletionTimestamp !== undefined)
    return { reason: "PodPending", message: `pod ${name} is being deleted; a new pod follows when it is gone` };
  if (isRunning(pod, FILLERS)) return undefined;
  const why = `pod ${name}: ${whyNotRunning(pod, FINISH_CONTAINER) ?? "it is starting"}`;
  if (statusesOf(pod, FILLERS).some(({ state }) => IMAGE_REASONS.includes(state?.waiting?.reason ?? "")))
    return { reason: "ImageUnavailable", message: why };
  const missing = snapshot.warnings.find((warning) => NO_SECRET.test(warning));
  if (missing !== undefined) {
    const names = secretNamesOf(snapshot).join(", ");
    return {
      reason: "SecretMissing",
      message: `pod ${name} waits for a Secret, or a key in one, among ${names}: ${missing}`,
    };
  }
  const [warning] = snapshot.warnings;
  return { reason: "PodPending", message: warning === undefined ? why : `${why}; Kubernetes warns: ${warning}` };
}

function withoutPod({ warnings: [warning] }: RestoreSnapshot, filling: Attempted): Lack {
  const { name } = filling.job.metadata;
  if (warning !== undefined)
    return { reason: "PodRefused", message: `the pod of Job ${name} cannot be created: ${warning}` };
  const last = lastEnded(filling.pods);
  if (last === undefined) return { reason: "PodPending", message: `the pod of Job ${name} is not created yet` };
  if (last.status?.phase === "Succeeded")
    return { reason: "Restoring", message: `the pod of Job ${name} has succeeded` };
  const failure = failureOf(filling);
  const why = failure === undefined ? endText(last, FILLERS) : `${failure.reason}: ${failure.message}`;
  return { reason: "Retrying", message: `an attempt of Job ${name} has failed and is retried: ${why}` };
}
