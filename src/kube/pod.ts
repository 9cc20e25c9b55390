import type { Pod } from "#kube/kinds.ts";

/** The newest pod that is not on its way out; else the newest one at all. */
export function currentPod(pods: readonly Pod[]): Pod | undefined {
  const newestFirst = [...pods].sort((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1));
  return newestFirst.find((pod) => pod.metadata.deletionTimestamp === undefined && !isOver(pod)) ?? newestFirst[0];
}

function createdAt(pod: Pod): string {
  return pod.metadata.creationTimestamp ?? "";
}

function isOver(pod: Pod): boolean {
  return pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
}

/** The pod's address, before it has ended and once it runs. */
function addressOf(pod: Pod): string | undefined {
  return isOver(pod) || pod.status?.phase === "Pending" ? undefined : pod.status?.podIP;
}

/** Host and port to dial; `undefined` while the pod has no address. */
export function dialAddress(pod: Pod, port: number): string | undefined {
  const address = addressOf(pod);
  if (address === undefined) return undefined;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

export function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false
  );
}

/**
 * Why the pod does not do its work, in one sentence for people; `undefined` when all its containers run.
 * The words are Kubernetes' own, so that they can be looked up.
 */
export function whyNotRunning(pod: Pod): string | undefined {
  const status = pod.status;
  if (pod.metadata.deletionTimestamp !== undefined) return `pod ${pod.metadata.name} is being deleted`;
  const unscheduled = unscheduledBecause(pod);
  if (unscheduled !== undefined)
    return `pod cannot be scheduled: ${unscheduled.message ?? unscheduled.reason ?? "no reason given"}`;
  for (const container of status?.containerStatuses ?? []) {
    const { waiting, terminated } = container.state ?? {};
    if (waiting !== undefined) return `container ${container.name} waits: ${because(waiting)}${lastEnd(container)}`;
    if (terminated !== undefined) return `container ${container.name} ended: ${because(terminated)}`;
  }
  if (isOver(pod)) return `pod is ${status?.phase}: ${status?.message ?? status?.reason ?? "no reason given"}`;
  if (status?.phase !== "Running") return `pod is ${status?.phase ?? "not started"}`;
  return undefined;
}

/** Whether no node was found for the pod so far. */
export function isUnscheduled(pod: Pod): boolean {
  return unscheduledBecause(pod) !== undefined;
}

function unscheduledBecause(pod: Pod) {
  return pod.status?.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False");
}

/** What a container waits for while all is well (https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kubelet_pods.go). */
const USUAL_WAITS: readonly (string | undefined)[] = ["ContainerCreating", "PodInitializing", undefined];

/** Whether the pod hangs in something that seldom ends by itself: no node, no image, a container that ends again and again. */
export function needsHelp(pod: Pod): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (isUnscheduled(pod)) return true;
  const waiting = pod.status?.containerStatuses?.flatMap(({ state }) => state?.waiting ?? []) ?? [];
  return waiting.some(({ reason }) => !USUAL_WAITS.includes(reason));
}

function because(state: {
  reason?: string | undefined;
  message?: string | undefined;
  exitCode?: number | undefined;
}): string {
  const code = state.exitCode === undefined ? "" : ` with exit code ${state.exitCode}`;
  const message = state.message === undefined ? "" : ` (${state.message})`;
  return `${state.reason ?? "no reason given"}${code}${message}`;
}

function lastEnd(container: { lastState?: { terminated?: { exitCode?: number; reason?: string } } }): string {
  const last = container.lastState?.terminated;
  return last === undefined
    ? ""
    : `; it ended before with exit code ${last.exitCode} (${last.reason ?? "no reason given"})`;
}

/** How long ago a container of the pod was last started, or else the pod was made, in milliseconds. */
export function startedMsAgo({ metadata, status }: Pod, nowMs: number): number {
  const containers = (status?.containerStatuses ?? []).flatMap(({ state }) => state?.running?.startedAt ?? []);
  const times = [metadata.creationTimestamp ?? "", ...containers].map((time) => Date.parse(time));
  // A clock that is far behind would call every pod new for ever; one that is a little behind changes nothing.
  return Math.abs(nowMs - Math.max(...times.filter((time) => !Number.isNaN(time))));
}

/** What containers that do not run said when they last ended: their termination messages. */
export function lastWords(pod: Pod): readonly string[] {
  const ended = (pod.status?.containerStatuses ?? []).filter(({ state }) => state?.running === undefined);
  return ended.flatMap(({ state, lastState }) =>
    [state?.terminated?.message, lastState?.terminated?.message].filter((message) => message !== undefined),
  );
}

/** Whether a container of the pod runs or has ever run, as far as the kubelet has told. */
export function hasRun(pod: Pod): boolean {
  return (pod.status?.containerStatuses ?? []).some(
    ({ state, lastState, restartCount }) =>
      state?.running !== undefined ||
      state?.terminated !== undefined ||
      lastState?.terminated !== undefined ||
      (restartCount ?? 0) > 0,
  );
}

/**
 * Whether, by the kubelet's and the scheduler's word, this container of the pod does not run, and will not before something changes.
 * @param container its name: others may have been put beside it
 */
export function isStopped(pod: Pod, container: string): boolean {
  const containers = (pod.status?.containerStatuses ?? []).filter(({ name }) => name === container);
  const runs = containers.some(({ state }) => state?.running !== undefined);
  return !runs && (needsHelp(pod) || containers.some(({ state }) => state?.terminated !== undefined));
}
