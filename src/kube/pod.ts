import type { Pod } from "#kube/kinds.ts";
import { lastLine, oneLine } from "#kube/words.ts";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

/** The newest pod that is neither terminating nor finished; if there is none, the newest pod. */
export function currentPod(pods: readonly Pod[]): Pod | undefined {
  const newestFirst = [...pods].sort((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1));
  return newestFirst.find((pod) => pod.metadata.deletionTimestamp === undefined && !isOver(pod)) ?? newestFirst[0];
}

/**
 * Current pod of each hostname. Several pods may have one hostname: a pod on a lost node cannot finish terminating, and
 * its replacement exists beside it.
 */
export function currentPods(pods: readonly Pod[]): ReadonlyMap<string, Pod> {
  const current = new Map<string, Pod>();
  for (const [hostname, own] of Map.groupBy(pods, hostnameOf)) {
    const pod = currentPod(own);
    if (pod !== undefined) current.set(hostname, pod);
  }
  return current;
}

/**
 * Hostname of the pod.
 * https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-hostname-and-subdomain-field
 */
export function hostnameOf({ metadata, spec }: Pod): string {
  return spec?.hostname ?? metadata.name;
}

function createdAt(pod: Pod): string {
  return pod.metadata.creationTimestamp ?? "";
}

/** Whether the pod has finished (phase Failed or Succeeded). Its ReplicaSet does not count it. */
export function isOver(pod: Pod): boolean {
  return pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
}

/**
 * Address of the pod, unless it has finished or this container has yet to start. The phase alone does not suffice: it
 * is Pending until every container has started.
 */
function addressOf(pod: Pod, container: string): string | undefined {
  const isYetToStart = pod.status?.phase === "Pending" && !runs(pod, container);
  return isOver(pod) || isYetToStart ? undefined : pod.status?.podIP;
}

/** Host and port to dial; `undefined` while this container is unreachable. */
export function dialAddress(pod: Pod, container: string, port: number): string | undefined {
  const address = addressOf(pod, container);
  if (address === undefined) return undefined;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

export function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false
  );
}

/**
 * Why the pod does not work, in one sentence; `undefined` when all its containers run. Quotes the reasons and messages
 * of Kubernetes and the termination message of the container (words.ts).
 * @param container is reported before other containers. A container that is stuck or has failed is reported before
 *   containers that wait for usual reasons.
 */
export function whyNotRunning(pod: Pod, container: string): string | undefined {
  const status = pod.status;
  if (pod.metadata.deletionTimestamp !== undefined) return `pod ${pod.metadata.name} is being deleted`;
  const unscheduled = unscheduledBecause(pod);
  if (unscheduled !== undefined)
    return `pod cannot be scheduled: ${oneLine(unscheduled.message ?? "") ?? unscheduled.reason ?? "no reason given"}`;
  const rank = (each: ContainerStatus) => (isInTrouble(each) ? 0 : 2) + (each.name === container ? 0 : 1);
  const first = (status?.initContainerStatuses ?? []).filter(isInTrouble);
  const all = [...first, ...(status?.containerStatuses ?? [])].sort((a, b) => rank(a) - rank(b));
  for (const each of all) {
    const { waiting, terminated } = each.state ?? {};
    if (waiting !== undefined) return `container ${each.name} waits: ${because(waiting, oneLine)}${lastEnd(each)}`;
    if (terminated !== undefined) return `container ${each.name} ended: ${because(terminated, lastLine)}`;
  }
  if (isOver(pod))
    return `pod is ${status?.phase}: ${oneLine(status?.message ?? "") ?? status?.reason ?? "no reason given"}`;
  if (status?.phase !== "Running") return `pod is ${status?.phase ?? "not started"}`;
  return undefined;
}

/** Whether the scheduler has found no node for the pod. */
export function isUnscheduled(pod: Pod): boolean {
  return unscheduledBecause(pod) !== undefined;
}

function unscheduledBecause(pod: Pod) {
  return pod.status?.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False");
}

/**
 * Waiting reasons of a normal start.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kubelet_pods.go
 */
const USUAL_WAITS: readonly (string | undefined)[] = ["ContainerCreating", "PodInitializing", undefined];

function hangs({ state }: ContainerStatus): boolean {
  return state?.waiting !== undefined && !USUAL_WAITS.includes(state.waiting.reason);
}

/** Whether the container is stuck or has failed. An init container with exit code 0 is done. */
function isInTrouble(container: ContainerStatus): boolean {
  return hangs(container) || (container.state?.terminated?.exitCode ?? 0) !== 0;
}

/**
 * Whether the pod or any of its containers is stuck in a state that seldom ends by itself: no node, no image, a crash
 * loop.
 */
export function needsHelp(pod: Pod): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return isUnscheduled(pod) || [...initContainerStatuses, ...containerStatuses].some(hangs);
}

/** Whether this container cannot start: the pod is unscheduled, or the container or an init container is stuck. */
export function isHeldUp(pod: Pod, container: string): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (runs(pod, container)) return false;
  return (
    isUnscheduled(pod) || [...(pod.status?.initContainerStatuses ?? []), ...statusesOf(pod, container)].some(hangs)
  );
}

function statusesOf(pod: Pod, container: string): readonly ContainerStatus[] {
  return (pod.status?.containerStatuses ?? []).filter(({ name }) => name === container);
}

interface Cause {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly exitCode?: number | undefined;
}

function because({ reason, message = "", exitCode }: Cause, shorten: typeof oneLine): string {
  const code = exitCode === undefined ? "" : ` with exit code ${exitCode}`;
  const words = shorten(message);
  return `${reason ?? "no reason given"}${code}${words === undefined ? "" : ` (${words})`}`;
}

function lastEnd(container: ContainerStatus): string {
  const last = container.lastState?.terminated;
  if (last === undefined) return "";
  const words = lastLine(last.message ?? "");
  const said = words === undefined ? "" : `: ${words}`;
  return `; it ended before with exit code ${last.exitCode} (${last.reason ?? "no reason given"})${said}`;
}

// The functions below take the name of a container, since the pod may have sidecars.

/** Time since this container last started, or since the pod was created if it does not run, in milliseconds. */
export function startedMsAgo(pod: Pod, container: string, nowMs: number): number {
  const started = statusesOf(pod, container).flatMap(({ state }) => state?.running?.startedAt ?? []);
  const times = [pod.metadata.creationTimestamp ?? "", ...started].map((time) => Date.parse(time));
  // Absolute value: with a clock far behind, a negative age would make every pod look new for ever.
  return Math.abs(nowMs - Math.max(...times.filter((time) => !Number.isNaN(time))));
}

/** Termination messages of this container, newest first; none while it runs. */
export function lastWords(pod: Pod, container: string): readonly string[] {
  const ended = statusesOf(pod, container).filter(({ state }) => state?.running === undefined);
  return ended.flatMap(({ state, lastState }) =>
    [state?.terminated?.message, lastState?.terminated?.message].filter((message) => message !== undefined),
  );
}

/**
 * Whether this container runs, as the kubelet reports. A restart of one that does not run interrupts nothing, whatever
 * it waits for: image, volume, ConfigMap, init containers or the end of a backoff.
 */
export function runs(pod: Pod, container: string): boolean {
  return statusesOf(pod, container).some(({ state }) => state?.running !== undefined);
}

/** Whether the kubelet reports this container as ready, whatever the state of other containers. */
export function isContainerReady(pod: Pod, container: string): boolean {
  return statusesOf(pod, container).some(({ ready }) => ready === true);
}

/** Whether this container runs or has ever run, as far as the kubelet has reported. */
export function hasRun(pod: Pod, container: string): boolean {
  return statusesOf(pod, container).some(
    ({ state, lastState, restartCount }) =>
      state?.running !== undefined ||
      state?.terminated !== undefined ||
      lastState?.terminated !== undefined ||
      (restartCount ?? 0) > 0,
  );
}

/** Number of restarts of this container. */
export function restartsOf(pod: Pod, container: string): number {
  return statusesOf(pod, container)[0]?.restartCount ?? 0;
}

/**
 * Whether this container has ended or cannot start, as the kubelet and the scheduler report. They do not report every
 * obstacle: a volume that cannot be mounted or an init container that never ends shows only by a timeout.
 */
export function isStopped(pod: Pod, container: string): boolean {
  const hasEnded = statusesOf(pod, container).some(({ state }) => state?.terminated !== undefined);
  return !runs(pod, container) && (isHeldUp(pod, container) || hasEnded);
}
