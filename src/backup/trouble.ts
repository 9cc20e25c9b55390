import type { Attempted } from "#agent-job/job-state.ts";
import { isRunning, lastEnded, reportedFailure, statusesOf, type Workers, workingPod } from "#agent-job/job-state.ts";
import { endText, IMAGE_REASONS, NO_SECRET } from "#agent-job/pod-trouble.ts";
import { AGENT_CONTAINER } from "#api/names.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { type Lack, sourceSecret } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";
import { whyNotRunning } from "#kube/pod.ts";

/** Why no pod of the Job is running; `undefined` when one is. @param workers the pod ends with the last of them */
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
      message: `pod ${pod.metadata.name} is being deleted; a new pod follows when it is gone`,
    };
  if (isRunning(pod, workers)) return undefined;
  const why = whyNotRunning(pod, workers.at(-1) ?? "") ?? "its pod is starting";
  if (statusesOf(pod, workers).some(({ state }) => IMAGE_REASONS.includes(state?.waiting?.reason ?? "")))
    return { reason: "ImageUnavailable", message: why };
  const missing = snapshot.warnings.find((warning) => NO_SECRET.test(warning));
  if (missing !== undefined) {
    const names = secretNamesOf(snapshot).join(", ");
    return {
      reason: "SecretMissing",
      message: `its pod waits for a Secret, or a key in one, among ${names}: ${missing}`,
    };
  }
  const [warning] = snapshot.warnings;
  return { reason: "PodPending", message: warning === undefined ? why : `${why}; Kubernetes warns: ${warning}` };
}

function withoutPod({ warnings: [warning] }: BackupSnapshot, attempted: Attempted, workers: Workers): Lack {
  if (warning !== undefined) return { reason: "PodRefused", message: `its pod cannot be created: ${warning}` };
  const last = lastEnded(attempted.pods);
  if (last === undefined) return { reason: "PodPending", message: "its pod is not created yet" };
  if (last.status?.phase === "Succeeded") return { reason: "BackingUp", message: "its pod has succeeded" };
  const report = reportedFailure(attempted, workers);
  const why = report === undefined ? endText(last, workers) : `${report.reason}: ${report.message}`;
  return { reason: "Retrying", message: `an attempt has failed and is retried: ${why}` };
}

/** Secrets that the pod mounts and cannot start without. */
export function secretNamesOf(snapshot: BackupSnapshot): readonly string[] {
  const { source, encryption } = snapshot.backup.spec;
  const target = targetOf(snapshot);
  const credentials = typeof target === "string" || target.credentials?.isOptional ? undefined : target.credentials;
  const tls = sourceSecret(snapshot)?.name;
  const names = [credentials?.secretName, encryption?.keySecretRef.name, tls, source.external?.auth?.secretName];
  return [...new Set(names.filter((name) => name !== undefined))];
}
