import type { Pod } from "#kube/kinds.ts";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

/** The newest pod that is not on its way out; else the newest one at all. */
export function currentPod(pods: readonly Pod[]): Pod | undefined {
  const newestFirst = [...pods].sort((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1));
  return newestFirst.find((pod) => pod.metadata.deletionTimestamp === undefined && !isOver(pod)) ?? newestFirst[0];
}

/** Of each hostname the pod that counts: one that cannot end, since its node is lost, may be followed by another one of the same hostname. */
export function currentPods(pods: readonly Pod[]): ReadonlyMap<string, Pod> {
  const current = new Map<string, Pod>();
  for (const [hostname, own] of Map.groupBy(pods, hostnameOf)) {
    const pod = currentPod(own);
    if (pod !== undefined) current.set(hostname, pod);
  }
  return current;
}

/** What the pod calls itself: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-hostname-and-subdomain-field */
export function hostnameOf({ metadata, spec }: Pod): string {
  return spec?.hostname ?? metadata.name;
}

function createdAt(pod: Pod): string {
  return pod.metadata.creationTimestamp ?? "";
}

/** Whether it has ended for good, and is only left on record: its ReplicaSet does not count it. */
export function isOver(pod: Pod): boolean {
  return pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
}

/**
 * The pod's address, before it has ended and once this container runs. Kubernetes calls a pod pending as long as any container has yet to
 * start, whichever of them run.
 */
function addressOf(pod: Pod, container: string): string | undefined {
  const isYetToStart = pod.status?.phase === "Pending" && !runs(pod, container);
  return isOver(pod) || isYetToStart ? undefined : pod.status?.podIP;
}

/** Host and port to dial; `undefined` while the pod has no address under which this container could be reached. */
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
 * Why the pod does not do its work, in one sentence for people; `undefined` when all its containers run.
 * The words are Kubernetes' own, so that they can be looked up.
 * @param container whose trouble is told before that of others; and the trouble of others before what passes by itself
 */
export function whyNotRunning(pod: Pod, container: string): string | undefined {
  const status = pod.status;
  if (pod.metadata.deletionTimestamp !== undefined) return `pod ${pod.metadata.name} is being deleted`;
  const unscheduled = unscheduledBecause(pod);
  if (unscheduled !== undefined)
    return `pod cannot be scheduled: ${unscheduled.message ?? unscheduled.reason ?? "no reason given"}`;
  const rank = (each: ContainerStatus) => (isInTrouble(each) ? 0 : 2) + (each.name === container ? 0 : 1);
  const first = (status?.initContainerStatuses ?? []).filter(isInTrouble);
  const all = [...first, ...(status?.containerStatuses ?? [])].sort((a, b) => rank(a) - rank(b));
  for (const each of all) {
    const { waiting, terminated } = each.state ?? {};
    if (waiting !== undefined) return `container ${each.name} waits: ${because(waiting)}${lastEnd(each)}`;
    if (terminated !== undefined) return `container ${each.name} ended: ${because(terminated)}`;
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

function hangs({ state }: ContainerStatus): boolean {
  return state?.waiting !== undefined && !USUAL_WAITS.includes(state.waiting.reason);
}

/** A container that runs first and has ended well is done. */
function isInTrouble(container: ContainerStatus): boolean {
  return hangs(container) || (container.state?.terminated?.exitCode ?? 0) !== 0;
}

/**
 * Whether the pod, in any of its containers, hangs in something that seldom ends by itself: no node, no image, a container that ends again
 * and again.
 */
export function needsHelp(pod: Pod): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return isUnscheduled(pod) || [...initContainerStatuses, ...containerStatuses].some(hangs);
}

/** Whether something of that kind keeps this container from running: its own trouble, or that of those which have to run before it. */
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

function because(state: {
  reason?: string | undefined;
  message?: string | undefined;
  exitCode?: number | undefined;
}): string {
  const code = state.exitCode === undefined ? "" : ` with exit code ${state.exitCode}`;
  const message = state.message === undefined ? "" : ` (${state.message})`;
  return `${state.reason ?? "no reason given"}${code}${message}`;
}

function lastEnd(container: ContainerStatus): string {
  const last = container.lastState?.terminated;
  return last === undefined
    ? ""
    : `; it ended before with exit code ${last.exitCode} (${last.reason ?? "no reason given"})`;
}

// Others may have been put beside etcd. What is asked of one container is asked by its name.

/** How long ago this container of the pod was last started, or else the pod was made, in milliseconds. */
export function startedMsAgo(pod: Pod, container: string, nowMs: number): number {
  const started = statusesOf(pod, container).flatMap(({ state }) => state?.running?.startedAt ?? []);
  const times = [pod.metadata.creationTimestamp ?? "", ...started].map((time) => Date.parse(time));
  // A clock that is far behind would call every pod new for ever; one that is a little behind changes nothing.
  return Math.abs(nowMs - Math.max(...times.filter((time) => !Number.isNaN(time))));
}

/** What this container, when it does not run, said when it last ended: its termination messages. */
export function lastWords(pod: Pod, container: string): readonly string[] {
  const ended = statusesOf(pod, container).filter(({ state }) => state?.running === undefined);
  return ended.flatMap(({ state, lastState }) =>
    [state?.terminated?.message, lastState?.terminated?.message].filter((message) => message !== undefined),
  );
}

/**
 * Whether this container of the pod runs, by the kubelet's word. Of one that does not there is nothing that could be lost, whatever it
 * waits for: an image, a volume, a ConfigMap, those that have to run before it, or the end of a back-off.
 */
export function runs(pod: Pod, container: string): boolean {
  return statusesOf(pod, container).some(({ state }) => state?.running !== undefined);
}

/** Whether this container of the pod is ready, by the kubelet's word on it alone. */
export function isContainerReady(pod: Pod, container: string): boolean {
  return statusesOf(pod, container).some(({ ready }) => ready === true);
}

/** Whether this container of the pod runs or has ever run, as far as the kubelet has told. */
export function hasRun(pod: Pod, container: string): boolean {
  return statusesOf(pod, container).some(
    ({ state, lastState, restartCount }) =>
      state?.running !== undefined ||
      state?.terminated !== undefined ||
      lastState?.terminated !== undefined ||
      (restartCount ?? 0) > 0,
  );
}

/** How often this container of the pod was started again. */
export function restartsOf(pod: Pod, container: string): number {
  return statusesOf(pod, container)[0]?.restartCount ?? 0;
}

/**
 * Whether, by the kubelet's and the scheduler's word, this container of the pod does not run, and will not before something changes. They
 * do not tell of all that keeps it: of a volume that is not to be had, or of one that has to run before it and does not end, only time tells.
 */
export function isStopped(pod: Pod, container: string): boolean {
  const hasEnded = statusesOf(pod, container).some(({ state }) => state?.terminated !== undefined);
  return !runs(pod, container) && (isHeldUp(pod, container) || hasEnded);
}
