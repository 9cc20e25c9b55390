import { FINISH_CONTAINER } from "#api/names.ts";
import { isRunning, lastEnded, statusesOf, workingPod } from "#backup/job-state.ts";
import type { Attempted } from "#backup/snapshot.ts";
import { endText, IMAGE_REASONS, NO_SECRET } from "#backup/trouble.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { secretNamesOf } from "#restore/object.ts";
import { FILLERS, failureOf } from "#restore/pods.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { Lack } from "#restore/source.ts";

/** Why no pod of the Job is at work; `undefined` when one is. */
export function troubleOf(snapshot: RestoreSnapshot, filling: Attempted): Lack | undefined {
  const pod = workingPod(filling);
  if (pod === undefined) return withoutPod(snapshot, filling);
  const { name } = pod.metadata;
  if (pod.metadata.deletionTimestamp !== undefined)
    return { reason: "PodPending", message: `pod ${name} is being deleted; another one follows when it is gone` };
  if (isRunning(pod, FILLERS)) return undefined;
  const why = `pod ${name}: ${whyNotRunning(pod, FINISH_CONTAINER) ?? "it is starting"}`;
  if (statusesOf(pod, FILLERS).some(({ state }) => IMAGE_REASONS.includes(state?.waiting?.reason ?? "")))
    return { reason: "ImageUnavailable", message: why };
  const missing = snapshot.warnings.find((warning) => NO_SECRET.test(warning));
  if (missing !== undefined) {
    const names = secretNamesOf(snapshot).join(", ");
    return {
      reason: "SecretMissing",
      message: `pod ${name} waits for a Secret, or a key of one, of ${names}: ${missing}`,
    };
  }
  const [warning] = snapshot.warnings;
  return { reason: "PodPending", message: warning === undefined ? why : `${why}; Kubernetes warns: ${warning}` };
}

function withoutPod({ warnings: [warning] }: RestoreSnapshot, filling: Attempted): Lack {
  const { name } = filling.job.metadata;
  if (warning !== undefined)
    return { reason: "PodRefused", message: `the pod of Job ${name} cannot be made: ${warning}` };
  const last = lastEnded(filling.pods);
  if (last === undefined) return { reason: "PodPending", message: `the pod of Job ${name} is not made yet` };
  if (last.status?.phase === "Succeeded")
    return { reason: "Restoring", message: `the pod of Job ${name} has ended well` };
  const failure = failureOf(filling);
  const why = failure === undefined ? endText(last, FILLERS) : `${failure.reason}: ${failure.message}`;
  return { reason: "Retrying", message: `an attempt of Job ${name} has failed, another one follows: ${why}` };
}
