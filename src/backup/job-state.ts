import { type AgentReport, type FailureReport, reportIn } from "#agent/report.ts";
import { type ArchiveTask, type BackupTask, type EtcdSource, TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_CONTAINER, deletionJobName, ETCDUTL_CONTAINER, FETCH_CONTAINER, VERIFY_CONTAINER } from "#api/names.ts";
import { type Attempted, type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import { controllerOf, type Job, type Pod } from "#kube/kinds.ts";
import { currentPod } from "#kube/pod.ts";

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

/** What the agent said when it ended last. @param container in which it ran */
export function reportOf({ pods }: Attempted, container: string = AGENT_CONTAINER): AgentReport | undefined {
  const last = lastEnded(pods);
  return last && reportIn(wordsOf(last, container));
}

/** What the container said when it ended last; nothing when it has not. */
export function wordsOf(pod: Pod, container: string): string {
  const [status] = statusesOf(pod, [container]);
  return status?.state?.terminated?.message ?? status?.lastState?.terminated?.message ?? "";
}

/** Why the last attempt failed, by the word of whichever of these did. */
export function reportedFailure(attempted: Attempted, workers: Workers = AGENT): FailureReport | undefined {
  const reports = workers.map((container) => reportOf(attempted, container));
  return reports.find((report) => report?.ok === false);
}

/** How long after the end of a Job its pod's report is waited for, in milliseconds; then the API server is asked for it (live-pods.ts). */
const REPORT_MS = 60_000;

/** Whether the Job has ended, and that of its pod, with the report, is not seen yet: Jobs and pods are seen each in their own time. */
export function isReportDue(look: { readonly takenAtMs: number }, attempted: Attempted): boolean {
  return !isSeen(attempted) && !isOverdue(look, attempted);
}

/** Whether the Job has ended well, and nobody waits any more for that of its pod to be seen. */
export function isUnreported(look: { readonly takenAtMs: number }, attempted: Attempted): boolean {
  return stateOf(attempted.job) === "succeeded" && !isSeen(attempted) && isOverdue(look, attempted);
}

function isSeen({ job, pods }: Attempted): boolean {
  const last = lastEnded(pods);
  return stateOf(job) === "succeeded"
    ? last?.status?.phase === "Succeeded"
    : last !== undefined && workingPod({ job, pods }) === undefined;
}

function isOverdue({ takenAtMs }: { readonly takenAtMs: number }, { job }: Attempted): boolean {
  return !(takenAtMs - endedAtMs(job) < REPORT_MS);
}

/** Of those that have ended, who succeeded, or else who was made last. */
export function lastEnded(pods: readonly Pod[]): Pod | undefined {
  const ended = pods.filter(hasEnded);
  return ended.find(({ status }) => status?.phase === "Succeeded") ?? currentPod(ended);
}

/** The containers of a Job's pod that do its work, one after another; by default the agent's alone. */
export type Workers = readonly string[];
const AGENT: Workers = [AGENT_CONTAINER];
export const VERIFIERS: Workers = [FETCH_CONTAINER, ETCDUTL_CONTAINER, VERIFY_CONTAINER];

/** Since when nothing of the Job runs, in milliseconds since 1970; `undefined` while one of these containers runs. */
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

/** What the kubelet says of these containers of the pod. */
export function statusesOf({ status }: Pod, workers: Workers) {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.filter(({ name }) => workers.includes(name));
}

/** The key that the agent of this Job was given. */
export function keyOfTask(job: Job): string | undefined {
  const task = taskOf(job);
  return task && ("prefix" in task ? task.prefix : task.key);
}

/** Of which etcd the agent of this Job was told, and where to ask it. */
export function sourceOfTask(job: Job): EtcdSource | undefined {
  return taskOf(job)?.source;
}

/** What the agent of this Job was given; a Job's template never changes. */
function taskOf({ spec }: Job): BackupTask | ArchiveTask | undefined {
  const agent = spec?.template.spec?.containers.find(({ name }) => name === AGENT_CONTAINER);
  const text = agent?.env?.find(({ name }) => name === TASK_VARIABLE)?.value;
  return text === undefined ? undefined : (JSON.parse(text) as BackupTask | ArchiveTask);
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

function hasStarted(pod: Pod): boolean {
  const hasRun = statusesOf(pod, AGENT).some(
    ({ state }) => state?.running !== undefined || state?.terminated !== undefined,
  );
  return hasRun || pod.status?.phase === "Running";
}
