import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import type { Pod } from "#kube/kinds.ts";
import { flagsOf } from "./flags.ts";

type PodTemplate = EtcdPeerSpec["podTemplate"];
type PodStatus = NonNullable<Pod["status"]>;

/** The kubelet's reason for an image that it cannot pull. */
const NO_IMAGE = "ImagePullBackOff";
/** A release that does not exist: its image is not found. */
export const UNPUBLISHED_PATCH = 90;
/** More processors than any node has. */
export const MOST_CPUS = 64;
/** Annotation on a pod template: with the flags of such a template, etcd exits at once. */
export const CRASHES = "example.test/crashes";
/** A ConfigMap that does not exist. */
const NO_CONFIG_MAP = "absent";

/** A sidecar; the tag of its image decides what happens to it. */
function agent(becomes: "works" | "crashes" | "unready" | "unpublished"): PodTemplate {
  return { spec: { containers: [{ name: "agent", image: `beside.test/agent:${becomes}` }] } };
}

/** An init container; the tag of its image decides what happens to it. */
function setup(becomes: "ends" | "hangs" | "crashes"): PodTemplate {
  return { spec: { initContainers: [{ name: "setup", image: `beside.test/setup:${becomes}` }] } };
}

/** Pod templates with a sidecar or init container that works. */
export const WELL_BESIDE = { agent: agent("works"), setup: setup("ends") } as const satisfies Record<
  string,
  PodTemplate
>;

/** Pod templates with which etcd runs, and its pod never becomes Ready. */
export const NEVER_READY = {
  crashes: agent("crashes"),
  unready: agent("unready"),
  /** The pod's phase stays Pending. */
  unpublished: agent("unpublished"),
} as const satisfies Record<string, PodTemplate>;

/** Pod templates with which etcd's container never starts. */
export const NEVER_STARTED = {
  initHangs: setup("hangs"),
  initCrashes: setup("crashes"),
  noConfigMap: { spec: { volumes: [{ name: "settings", configMap: { name: NO_CONFIG_MAP } }] } },
} as const satisfies Record<string, PodTemplate>;

interface Container {
  readonly name?: string;
  readonly image?: string;
}

/** Whether pods from this template never become Ready, because of containers or volumes other than etcd's. */
export function isBrokenBeside(template: { readonly spec?: unknown }): boolean {
  const { containers, initContainers, volumes } = (template.spec ?? {}) as {
    containers?: readonly Container[] | null;
    initContainers?: readonly Container[] | null;
    volumes?: readonly { configMap?: { name?: string } | null }[] | null;
  };
  const bad = [...(containers ?? []), ...(initContainers ?? [])].some(({ image }) =>
    ["crashes", "unready", "unpublished", "hangs"].includes(tagOf(image)),
  );
  return bad || (volumes ?? []).some(({ configMap }) => configMap?.name === NO_CONFIG_MAP);
}

function tagOf(image: string | undefined): string {
  return image?.startsWith("beside.test/") === true ? (image.split(":")[1] ?? "") : "";
}

/** Whether the pod has ended for good: no container of it is started again. */
export function isOver({ status }: { readonly status?: { readonly phase?: string } }): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded";
}

/**
 * The last status of a deleted pod when its containers have ended: `getPhase` in pkg/kubelet/kubelet_pods.go. etcd
 * exits with 0. A sidecar does not handle the signal in time, and is killed.
 */
export function endedStatus({ spec, status }: Pod, now: string): PodStatus {
  const isAlone = spec?.containers?.length === 1;
  const reason = isAlone ? "PodCompleted" : "PodFailed";
  return {
    ...(status?.podIP === undefined ? {} : { podIP: status.podIP }),
    phase: isAlone ? "Succeeded" : "Failed",
    conditions: [{ type: "Ready", status: "False", reason, lastTransitionTime: now }],
    containerStatuses: (spec?.containers ?? []).map(({ name }) => {
      const terminated = name === "etcd" ? { exitCode: 0, reason: "Completed" } : { exitCode: 137, reason: "Error" };
      return { name, ready: false, state: { terminated } };
    }),
  } as unknown as PodStatus;
}

/**
 * The last status of a pod that was evicted because its node ran out of resources. It keeps its IP, which another pod
 * may soon have: `killPod` in pkg/kubelet/eviction/eviction_manager.go, `getPodIPs` in pkg/kubelet/pleg/generic.go.
 */
export function evictedStatus({ spec, status }: Pod, now: string): PodStatus {
  const terminated = { exitCode: 137, reason: "Error" };
  return {
    ...(status?.podIP === undefined ? {} : { podIP: status.podIP }),
    phase: "Failed",
    reason: "Evicted",
    message: "The node was low on resource: ephemeral-storage.",
    conditions: [
      { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", lastTransitionTime: now },
      { type: "Ready", status: "False", reason: "PodFailed", lastTransitionTime: now },
    ],
    containerStatuses: (spec?.containers ?? []).map(({ name }) => ({ name, ready: false, state: { terminated } })),
  } as unknown as PodStatus;
}

/** Whether the node cannot even make the pod's sandbox, because a ConfigMap that the pod mounts does not exist. */
export function lacksVolume({ spec }: Pod): boolean {
  return spec?.volumes?.some(({ configMap }) => configMap?.name === NO_CONFIG_MAP) ?? false;
}

/** Whether etcd's container waits for an init container or volume that never becomes ready. */
export function isHeldUp(pod: Pod): boolean {
  return lacksVolume(pod) || ["hangs", "crashes"].includes(tagOf(pod.spec?.initContainers?.[0]?.image));
}

/** Whether a sidecar that may fail runs in this pod. */
export function hasAgent({ spec }: Pod): boolean {
  return spec?.containers?.some(({ image }) => tagOf(image) === "works") ?? false;
}

/** Why etcd does not start, or exits at once, in this pod. */
export function whyItCannotStart(pod: Pod): string | undefined {
  const { version } = flagsOf(pod);
  if (Number(version.split(".")[2]) >= UNPUBLISHED_PATCH) return NO_IMAGE;
  return pod.metadata.annotations?.[CRASHES] === undefined ? undefined : "flag provided but not defined";
}

/** Why etcd's last container terminated, as far as known. */
export function whyItEnded(pod: Pod): string {
  const last = pod.status?.containerStatuses?.find(({ name }) => name === "etcd")?.lastState;
  return last?.terminated?.message ?? "the process was killed";
}

/**
 * The pod's status as the kubelet reports it:
 * https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kubelet_pods.go (getPhase, and the default reasons
 * of waiting containers).
 * @param given.podIP undefined before the sandbox exists
 * @param given.ended why etcd's container does not run; undefined while it runs
 * @param given.serves whether etcd passes its readiness probe
 * @param given.isUnmounted whether a Secret that the pod mounts is missing
 * @param given.isAgentIll whether a sidecar that worked before is now crash looping
 */
export function podStatus(
  pod: Pod,
  given: {
    podIP: string | undefined;
    ended: string | undefined;
    serves: boolean;
    isUnmounted: boolean;
    isAgentIll: boolean;
    now: string;
  },
): PodStatus {
  const { podIP, ended, serves, now } = given;
  const becomes = (image: string | undefined) =>
    given.isAgentIll && tagOf(image) === "works" ? "crashes" : tagOf(image);
  const isReady = serves && (pod.spec?.containers ?? []).every(({ image }) => ["", "works"].includes(becomes(image)));
  const old = pod.status?.conditions?.find(({ type }) => type === "Ready");
  const ready = isReady ? "True" : "False";
  const lastTransitionTime = old?.status === ready ? old.lastTransitionTime : now;
  const first = pod.spec?.initContainers ?? [];
  const reason = first.length > 0 ? "PodInitializing" : "ContainerCreating";
  const waits = isHeldUp(pod) || given.isUnmounted ? { state: { waiting: { reason } } } : undefined;
  // The kubelet sorts them by name.
  const containerStatuses = [...(pod.spec?.containers ?? [])]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, image }) => {
      const told: Told = waits ?? (name === "etcd" ? stateOf(ended) : besideOf(becomes(image)));
      return { name, ready: name === "etcd" ? serves : waits === undefined && becomes(image) === "works", ...told };
    });
  const isWaiting = containerStatuses.some(({ state, lastState }) => state.waiting && lastState === undefined);
  return {
    phase: isWaiting ? "Pending" : "Running",
    ...(podIP === undefined ? {} : { podIP }),
    conditions: [{ type: "Ready", status: ready, lastTransitionTime }],
    ...(first.length === 0 ? {} : { initContainerStatuses: first.map((each) => firstOf(pod, each)) }),
    containerStatuses,
  } as unknown as PodStatus;
}

interface Told {
  readonly state: { readonly waiting?: object; readonly running?: object; readonly terminated?: object };
  readonly lastState?: object;
}

function stateOf(ended: string | undefined): Told {
  if (ended === undefined) return { state: { running: {} } };
  return ended === NO_IMAGE ? { state: { waiting: { reason: NO_IMAGE } } } : crashed(ended);
}

function besideOf(becomes: string): Told {
  if (becomes === "unpublished") return { state: { waiting: { reason: NO_IMAGE } } };
  return becomes === "crashes" ? crashed("the agent has failed") : { state: { running: {} } };
}

function firstOf(pod: Pod, { name, image }: Container): object {
  if (lacksVolume(pod)) return { name, state: { waiting: { reason: "PodInitializing" } } };
  if (tagOf(image) === "hangs") return { name, state: { running: {} } };
  if (tagOf(image) === "crashes") return { name, ...crashed("nothing to set up") };
  return { name, state: { terminated: { exitCode: 0, reason: "Completed" } } };
}

function crashed(message: string): Told {
  const reason = "CrashLoopBackOff";
  return { state: { waiting: { reason } }, lastState: { terminated: { exitCode: 1, reason: "Error", message } } };
}
