import { type AgentReport, reportIn } from "#agent/report.ts";
import { type BackupTask, TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_CONTAINER, deletionJobName } from "#api/names.ts";
import { type Attempted, type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import { controllerOf, type Job, type Pod } from "#kube/kinds.ts";
import { currentPod, lastWords } from "#kube/pod.ts";

// What the Job controller and the kubelet say of an attempt. The agent's own words are its termination message, written by a pod: they
// count only when they can be read.

/** How far the Job is, by the word of its controller. */
export function stateOf({ status }: Job): "active" | "succeeded" | "failed" {
  if (conditionOf(status, "Complete") !== undefined) return "succeeded";
  return conditionOf(status, "Failed") === undefined ? "active" : "failed";
}

/** Why the Job has failed, by its controller: reason and message. */
export function failedBecause({ status }: Job): { readonly reason: string; readonly message: string } {
  const { reason = "no reason given", message = "no message" } = conditionOf(status, "Failed") ?? {};
  return { reason, message };
}

/** When the Job ended, in milliseconds since 1970; no number while it has not, or does not say when. */
export function endedAtMs({ status }: Job): number {
  const end = conditionOf(status, "Complete") ?? conditionOf(status, "Failed");
  return Date.parse(end?.lastTransitionTime ?? "");
}

/** The condition of this type, when it is true. */
export function conditionOf(status: Job["status"], type: string) {
  return status?.conditions?.find((each) => each.type === type && each.status === "True");
}

/** Pods that may still store something. */
export function storingPods(snapshot: BackupSnapshot): readonly Pod[] {
  const { taking, orphans } = snapshot;
  const own = taking !== undefined && isOwned(snapshot, taking.job) ? taking.pods : [];
  return [...orphans, ...own].filter((pod) => !hasEnded(pod));
}

/** Pods that may still delete something. */
export function deletingPods({ backup, removing, orphans }: BackupSnapshot): readonly Pod[] {
  const name = deletionJobName(backup.metadata.uid);
  const own = orphans.filter((pod) => controllerOf(pod)?.name === name);
  return [...own, ...(removing?.pods ?? [])].filter((pod) => !hasEnded(pod));
}

/** After this time a pod that was to end and did not is taken for lost with its node, in milliseconds; Kubernetes gives it 30 s. */
const LOST_MS = 2 * 60_000;

/** Whether the pod was to be gone a while ago. */
export function isLost({ takenAtMs }: BackupSnapshot, { metadata }: Pod): boolean {
  return takenAtMs - Date.parse(metadata.deletionTimestamp ?? "") >= LOST_MS;
}

/** Whether the pod has ended. */
export function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded";
}

/** The pod that is at work, or is to be; `undefined` when all have ended, or there is none. */
export function workingPod({ pods }: Attempted): Pod | undefined {
  return currentPod(pods.filter((pod) => !hasEnded(pod)));
}

/** What the agent said when it ended last. */
export function reportOf({ pods }: Attempted): AgentReport | undefined {
  const last = lastEnded(pods);
  const [words = ""] = last === undefined ? [] : lastWords(last, AGENT_CONTAINER);
  return reportIn(words);
}

/** Of those that have ended, who succeeded, or else who was made last. */
export function lastEnded(pods: readonly Pod[]): Pod | undefined {
  const ended = pods.filter(hasEnded);
  return ended.find(({ status }) => status?.phase === "Succeeded") ?? currentPod(ended);
}

/** Since when nothing of the Job runs, in milliseconds since 1970; `undefined` while its agent runs. */
export function idleSince(attempted: Attempted): number | undefined {
  const { job, pods } = attempted;
  const pod = workingPod(attempted);
  const isAtWork = pod !== undefined && pod.metadata.deletionTimestamp === undefined && isRunning(pod);
  if (isAtWork) return undefined;
  const times = [
    job.metadata.creationTimestamp,
    pod?.metadata.deletionTimestamp ?? pod?.metadata.creationTimestamp,
    ...pods.flatMap(endOf),
  ];
  return Math.max(...times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)])));
}

export function isRunning({ status }: Pod): boolean {
  return agentOf(status)?.state?.running !== undefined;
}

function endOf({ status }: Pod): readonly string[] {
  const finishedAt = agentOf(status)?.state?.terminated?.finishedAt;
  return finishedAt === undefined ? [] : [finishedAt];
}

/** The key that the agent of this Job was given; a Job's template never changes. */
export function keyOfTask({ spec }: Job): string | undefined {
  const agent = spec?.template.spec?.containers.find(({ name }) => name === AGENT_CONTAINER);
  const text = agent?.env?.find(({ name }) => name === TASK_VARIABLE)?.value;
  return text === undefined ? undefined : (JSON.parse(text) as Pick<BackupTask, "key">).key;
}

/**
 * Whether no agent of the backup has run, so that nothing of it can be in the store. Pods go, and what they did with them: so it is on
 * record from the first look at the Job on, until one runs.
 */
export function isNothingStored(snapshot: BackupSnapshot): boolean {
  const { taking, orphans, backup } = snapshot;
  const own = taking !== undefined && isOwned(snapshot, taking.job) ? taking : undefined;
  if ([...orphans, ...(own?.pods ?? [])].some(hasStarted)) return false;
  if (own !== undefined && stateOf(own.job) === "succeeded") return false;
  if (backup.status?.jobName !== undefined) return backup.status.nothingStored === true;
  return (own?.job.status?.failed ?? 0) === 0;
}

function hasStarted({ status }: Pod): boolean {
  const { running, terminated } = agentOf(status)?.state ?? {};
  return running !== undefined || terminated !== undefined || status?.phase === "Running";
}

export function agentOf(status: Pod["status"]) {
  return status?.containerStatuses?.find(({ name }) => name === AGENT_CONTAINER);
}
