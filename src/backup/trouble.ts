import { AGENT_CONTAINER } from "#api/names.ts";
import { isRunning, lastEnded, reportedFailure, statusesOf, type Workers, workingPod } from "#backup/job-state.ts";
import type { Attempted, BackupSnapshot } from "#backup/snapshot.ts";
import { type Lack, sourceSecret } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import type { Pod } from "#kube/kinds.ts";
import { whyNotRunning } from "#kube/pod.ts";

/** https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/images/types.go */
export const IMAGE_REASONS = [
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
];

/** What the kubelet says when it cannot mount a Secret. */
export const NO_SECRET = /secrets? "[^"]*" not found|non-existent secret key/i;

/** Why no pod of the Job is at work; `undefined` when one is. @param workers the last one is the one that ends the pod */
export function troubleOf(
  snapshot: BackupSnapshot,
  attempted: Attempted,
  workers: Workers = [AGENT_CONTAINER],
): Lack | undefined {
  const pod = workingPod(attempted);
  if (pod === undefined) return withoutPod(snapshot, attempted, workers);
  if (pod.metadata.deletionTimestamp !== undefined)
    return {
      reason: "PodPending",
      message: `pod ${pod.metadata.name} is being deleted; another one follows when it is gone`,
    };
  if (isRunning(pod, workers)) return undefined;
  const why = whyNotRunning(pod, workers.at(-1) ?? "") ?? "its pod is starting";
  if (statusesOf(pod, workers).some(({ state }) => IMAGE_REASONS.includes(state?.waiting?.reason ?? "")))
    return { reason: "ImageUnavailable", message: why };
  const missing = snapshot.warnings.find((warning) => NO_SECRET.test(warning));
  if (missing !== undefined) {
    const names = secretNamesOf(snapshot).join(", ");
    return { reason: "SecretMissing", message: `its pod waits for a Secret, or a key of one, of ${names}: ${missing}` };
  }
  const [warning] = snapshot.warnings;
  return { reason: "PodPending", message: warning === undefined ? why : `${why}; Kubernetes warns: ${warning}` };
}

function withoutPod({ warnings: [warning] }: BackupSnapshot, attempted: Attempted, workers: Workers): Lack {
  if (warning !== undefined) return { reason: "PodRefused", message: `its pod cannot be made: ${warning}` };
  const last = lastEnded(attempted.pods);
  if (last === undefined) return { reason: "PodPending", message: "its pod is not made yet" };
  if (last.status?.phase === "Succeeded") return { reason: "BackingUp", message: "its pod has ended well" };
  const report = reportedFailure(attempted, workers);
  const why = report === undefined ? endText(last, workers) : `${report.reason}: ${report.message}`;
  return { reason: "Retrying", message: `an attempt has failed, another one follows: ${why}` };
}

/** How a pod ended that left no report. */
export function endText(pod: Pod, workers: Workers = [AGENT_CONTAINER]): string {
  return whyNotRunning(pod, workers.at(-1) ?? "") ?? `pod ${pod.metadata.name} ended`;
}

/** Every Secret that the pod mounts and cannot do without. */
export function secretNamesOf(snapshot: BackupSnapshot): readonly string[] {
  const { source, encryption } = snapshot.backup.spec;
  const target = targetOf(snapshot);
  const credentials = typeof target === "string" || target.credentials?.isOptional ? undefined : target.credentials;
  const tls = sourceSecret(snapshot)?.name;
  const names = [credentials?.secretName, encryption?.keySecret.name, tls, source.auth?.secretName];
  return [...new Set(names.filter((name) => name !== undefined))];
}
