import { AGENT, hasEnded, stateOf, statusesOf } from "#agent-job/job-state.ts";
import { checkJobName, deletionJobName, verificationJobName } from "#api/names.ts";
import { type BackupSnapshot, ownOf } from "#backup/snapshot.ts";
import { controllerOf, type Pod } from "#kube/kinds.ts";

/** Pods that may still store something. Pods of checks and verifications only read. */
export function storingPods(snapshot: BackupSnapshot): readonly Pod[] {
  const { taking, orphans } = snapshot;
  const { uid } = snapshot.backup.metadata;
  const reading = [checkJobName(uid), verificationJobName(uid)];
  const own = ownOf(snapshot, taking)?.pods ?? [];
  return [...orphans, ...own].filter((pod) => !hasEnded(pod) && !reading.includes(controllerOf(pod)?.name ?? ""));
}

/** Pods that may still delete something. */
export function deletingPods({ backup, removing, orphans }: BackupSnapshot): readonly Pod[] {
  const name = deletionJobName(backup.metadata.uid);
  const own = orphans.filter((pod) => controllerOf(pod)?.name === name);
  return [...own, ...(removing?.pods ?? [])].filter((pod) => !hasEnded(pod));
}

/**
 * Time after which a pod that should have ended counts as lost with its node, in milliseconds; its grace period is 30
 * s.
 */
const LOST_MS = 2 * 60_000;

/** Whether the pod should have ended a while ago. */
export function isLost({ takenAtMs }: BackupSnapshot, { metadata }: Pod): boolean {
  return takenAtMs - Date.parse(metadata.deletionTimestamp ?? "") >= LOST_MS;
}

/**
 * Whether no agent of the backup has run, so that nothing can be stored. Pods are deleted with their state, so the
 * status records this from the first observation of the Job until an agent runs.
 */
export function isNothingStored(snapshot: BackupSnapshot): boolean {
  const { taking, orphans, backup } = snapshot;
  const own = ownOf(snapshot, taking);
  if ([...orphans, ...(own?.pods ?? [])].some(hasStarted)) return false;
  if (own !== undefined && stateOf(own) === "succeeded") return false;
  if (backup.status?.jobName !== undefined) return backup.status.nothingStored === true;
  return (own?.job.status?.failed ?? 0) === 0;
}

function hasStarted(pod: Pod): boolean {
  const hasRun = statusesOf(pod, AGENT).some(
    ({ state }) => state?.running !== undefined || state?.terminated !== undefined,
  );
  return hasRun || pod.status?.phase === "Running";
}
