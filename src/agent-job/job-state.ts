import { type AgentReport, type FailureReport, reportIn } from "#agent/report.ts";
import { type ArchiveTask, type BackupTask, type EtcdSource, NO_RETRY_EXIT_CODE, TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_CONTAINER, ETCDUTL_CONTAINER, FETCH_CONTAINER, FINISH_CONTAINER, VERIFY_CONTAINER } from "#api/names.ts";
import { controllerOf, type Job, type Pod } from "#kube/kinds.ts";
import { currentPod, isOver } from "#kube/pod.ts";

// What the Job controller and the kubelet report about an attempt. The agent's report is the termination message; it
// counts only if it can be parsed, since a pod wrote it.

// What if an admission webhook adds a container to the pod, such as the proxy of a service mesh?
//   It keeps running after the agent has ended, so that neither the pod nor the Job ever ends. Such a pod lingers, and
//   counts as ended. The exit code of the agent decides (endings.ts).
//   With 0 the attempt has succeeded, and the operator deletes the Job later. With NO_RETRY_EXIT_CODE it has failed, and
//   the pod stays until its report is used. With others the operator deletes the pod, and the Job creates the next one.

/** A Job of the agent, with its pods. */
export interface Attempted {
  readonly job: Job;
  readonly pods: readonly Pod[];
}

/** The Job with those of the pods that belong to it. */
export function attempted(job: Job | undefined, pods: readonly Pod[]): Attempted | undefined {
  return job && { job, pods: pods.filter((pod) => controllerOf(pod)?.uid === job.metadata.uid) };
}

/**
 * State of the attempt. For a lingering pod the exit code of the agent decides, before the Job has a condition.
 * Otherwise the Job could fail by its deadline, and its controller would delete the pod together with the report.
 */
export function stateOf({ job, pods }: Attempted): "active" | "succeeded" | "failed" {
  const codes = pods.filter(isLingering).map((pod) => endOf(pod)?.exitCode);
  if (conditionOf(job.status, "Complete") !== undefined || codes.includes(0)) return "succeeded";
  if (conditionOf(job.status, "Failed") !== undefined || codes.includes(NO_RETRY_EXIT_CODE)) return "failed";
  return "active";
}

/** The pod in which the agent has ended and an added container has not. */
export function lingeringPod({ pods }: Attempted): Pod | undefined {
  return pods.find(isLingering);
}

function isLingering(pod: Pod): boolean {
  if (isOver(pod)) return false;
  const all = pod.status?.containerStatuses ?? [];
  const hasAgentEnded = all.some(({ name, state }) => LAST.includes(name) && state?.terminated !== undefined);
  return hasAgentEnded && all.some(({ state }) => state?.terminated === undefined);
}

/** Containers with which pods of the agent end; a pod has one of them. Others are init containers. */
const LAST: Workers = [AGENT_CONTAINER, VERIFY_CONTAINER, FINISH_CONTAINER];

/** Whether the pod has ended, or its agent has and only an added container has not. */
export function hasEnded(pod: Pod): boolean {
  return isOver(pod) || isLingering(pod);
}

/** Whether the pod has ended with success, or its agent has and only an added container has not ended. */
export function hasSucceeded(pod: Pod): boolean {
  return isLingering(pod) ? endOf(pod)?.exitCode === 0 : pod.status?.phase === "Succeeded";
}

/** End of the container with which the pod ends. */
function endOf(pod: Pod) {
  return statusesOf(pod, LAST)[0]?.state?.terminated;
}

/** Whether the Job must be deleted to end all of its pods. */
export function isToBeStopped(attempt: Attempted): boolean {
  if (attempt.job.metadata.deletionTimestamp !== undefined) return false;
  return stateOf(attempt) === "active" || lingeringPod(attempt) !== undefined;
}

/** Reason and message of the Job's condition Failed. */
export function failedBecause({ status }: Job): { readonly reason: string; readonly message: string } {
  const { reason = "no reason given", message = "no message" } = conditionOf(status, "Failed") ?? {};
  return { reason, message };
}

/** When the attempt ended, in milliseconds since 1970; NaN while it has not, or when the time is missing. */
export function endedAtMs(attempt: Attempted): number {
  const { status } = attempt.job;
  const end = conditionOf(status, "Complete") ?? conditionOf(status, "Failed");
  const pod = lingeringPod(attempt);
  return Date.parse(end?.lastTransitionTime ?? (pod && endOf(pod))?.finishedAt ?? "");
}

/** The condition of this type, if it is True. */
export function conditionOf(status: Job["status"], type: string) {
  return status?.conditions?.find((each) => each.type === type && each.status === "True");
}

/** The pod that runs or will run; `undefined` when all have ended, or none exists. */
export function workingPod({ pods }: Attempted): Pod | undefined {
  return currentPod(pods.filter((pod) => !hasEnded(pod)));
}

/** Report of the agent that ended last. @param container its container */
export function reportOf({ pods }: Attempted, container: string = AGENT_CONTAINER): AgentReport | undefined {
  const last = lastEnded(pods);
  return last && reportIn(wordsOf(last, container));
}

/** Termination message of the container's last run; empty when it has not ended. */
export function wordsOf(pod: Pod, container: string): string {
  const [status] = statusesOf(pod, [container]);
  return status?.state?.terminated?.message ?? status?.lastState?.terminated?.message ?? "";
}

/** Failure report of the last attempt, from the first of these containers that has one. */
export function reportedFailure(attempted: Attempted, workers: Workers = AGENT): FailureReport | undefined {
  const reports = workers.map((container) => reportOf(attempted, container));
  return reports.find((report) => report?.ok === false);
}

/**
 * How long the pod's report is awaited after the end of its Job, in milliseconds; then the API server is asked for it
 * (live-pods.ts).
 */
const REPORT_MS = 60_000;

/**
 * Whether the Job has ended and the cache does not show the end of its pod yet: the caches of Jobs and pods are
 * independent.
 */
export function isReportDue(look: { readonly takenAtMs: number }, attempted: Attempted): boolean {
  return !isSeen(attempted) && !isOverdue(look, attempted);
}

/** Whether the Job has succeeded and its pod's report is no longer awaited. */
export function isUnreported(look: { readonly takenAtMs: number }, attempted: Attempted): boolean {
  return stateOf(attempted) === "succeeded" && !isSeen(attempted) && isOverdue(look, attempted);
}

function isSeen(attempted: Attempted): boolean {
  const last = lastEnded(attempted.pods);
  if (last === undefined) return false;
  return stateOf(attempted) === "succeeded" ? hasSucceeded(last) : workingPod(attempted) === undefined;
}

function isOverdue({ takenAtMs }: { readonly takenAtMs: number }, attempted: Attempted): boolean {
  return !(takenAtMs - endedAtMs(attempted) < REPORT_MS);
}

/** The successful one of the ended pods, or else the newest. */
export function lastEnded(pods: readonly Pod[]): Pod | undefined {
  const ended = pods.filter(hasEnded);
  return ended.find(hasSucceeded) ?? currentPod(ended);
}

/** Containers of a Job's pod that do its work, in order; by default only the agent's. */
export type Workers = readonly string[];
export const AGENT: Workers = [AGENT_CONTAINER];
export const VERIFIERS: Workers = [FETCH_CONTAINER, ETCDUTL_CONTAINER, VERIFY_CONTAINER];

/**
 * Since when no container of the Job has run, in milliseconds since 1970; `undefined` while one of these containers
 * runs.
 */
export function idleSince(attempted: Attempted, workers: Workers = AGENT): number | undefined {
  const { job, pods } = attempted;
  const pod = workingPod(attempted);
  const isAtWork = pod !== undefined && pod.metadata.deletionTimestamp === undefined && isRunning(pod, workers);
  if (isAtWork) return undefined;
  const times = [
    job.metadata.creationTimestamp,
    pod?.metadata.deletionTimestamp ?? pod?.metadata.creationTimestamp,
    ...pods.flatMap((each) => statusesOf(each, workers).map(({ state }) => state?.terminated?.finishedAt)),
  ];
  return Math.max(...times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)])));
}

export function isRunning(pod: Pod, workers: Workers = AGENT): boolean {
  return statusesOf(pod, workers).some(({ state }) => state?.running !== undefined);
}

/** Statuses of these containers. */
export function statusesOf({ status }: Pod, workers: Workers) {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.filter(({ name }) => workers.includes(name));
}

/** Object key in the task of this Job's agent. */
export function keyOfTask(job: Job): string | undefined {
  const task = taskOf(job);
  return task && ("prefix" in task ? task.prefix : task.key);
}

/** Source in the task of this Job's agent. */
export function sourceOfTask(job: Job): EtcdSource | undefined {
  return taskOf(job)?.source;
}

/** Task of this Job's agent; a Job's template never changes. */
function taskOf({ spec }: Job): BackupTask | ArchiveTask | undefined {
  const agent = spec?.template.spec?.containers.find(({ name }) => name === AGENT_CONTAINER);
  const text = agent?.env?.find(({ name }) => name === TASK_VARIABLE)?.value;
  return text === undefined ? undefined : (JSON.parse(text) as BackupTask | ArchiveTask);
}
