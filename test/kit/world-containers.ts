import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import type { Pod } from "#kube/kinds.ts";
import { flagsOf } from "./world-flags.ts";

type PodTemplate = EtcdPeerSpec["podTemplate"];
type PodStatus = NonNullable<Pod["status"]>;

/** What the kubelet says of an image that it cannot get. */
const NO_IMAGE = "ImagePullBackOff";
/** A release that nobody has published: its image is not found. */
export const UNPUBLISHED_PATCH = 90;
/** More processors than any node has. */
export const MOST_CPUS = 64;
/** On a pod template of a history: with its flags etcd ends at once. */
export const CRASHES = "example.test/crashes";
/** A ConfigMap that nobody has made. */
const NO_CONFIG_MAP = "absent";

/** A container beside etcd's; what becomes of it is told by the tag of its image. */
function agent(becomes: "works" | "crashes" | "unready" | "unpublished"): PodTemplate {
  return { spec: { containers: [{ name: "agent", image: `beside.test/agent:${becomes}` }] } };
}

/** A container that runs before etcd's. */
function setup(becomes: "ends" | "hangs" | "crashes"): PodTemplate {
  return { spec: { initContainers: [{ name: "setup", image: `beside.test/setup:${becomes}` }] } };
}

/** Pod templates with something beside etcd that is as it should be. */
export const WELL_BESIDE = { agent: agent("works"), setup: setup("ends") } as const satisfies Record<
  string,
  PodTemplate
>;

/** Pod templates with which etcd takes part, and its pod never is ready. */
export const NEVER_READY = {
  crashes: agent("crashes"),
  unready: agent("unready"),
  /** Kubernetes calls the pod pending all the while. */
  unpublished: agent("unpublished"),
} as const satisfies Record<string, PodTemplate>;

/** Pod templates with which etcd's container waits for ever, and never ends. */
export const NEVER_STARTED = {
  initHangs: setup("hangs"),
  initCrashes: setup("crashes"),
  noConfigMap: { spec: { volumes: [{ name: "settings", configMap: { name: NO_CONFIG_MAP } }] } },
} as const satisfies Record<string, PodTemplate>;

interface Container {
  readonly name?: string;
  readonly image?: string;
}

/** Whether no pod that is made from it becomes ready, because of what is beside etcd. */
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

/** Whether it has ended for good, and only stays on record: nothing in it is started again. */
export function isOver({ status }: { readonly status?: { readonly phase?: string } }): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded";
}

/**
 * The last word on a pod that was to go, when its containers have ended: `getPhase` in pkg/kubelet/kubelet_pods.go. etcd ends well; what is
 * beside it does not hear of the signal in time.
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
 * The last word on a pod that was ended because its node ran short. It keeps the address that it had, which may soon be somebody else's:
 * `killPod` in pkg/kubelet/eviction/eviction_manager.go, `getPodIPs` in pkg/kubelet/pleg/generic.go.
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

/** Whether the node cannot even make the pod's sandbox, since a volume of it is not to be had. */
export function lacksVolume({ spec }: Pod): boolean {
  return spec?.volumes?.some(({ configMap }) => configMap?.name === NO_CONFIG_MAP) ?? false;
}

/** Whether etcd's container waits, because something else comes first that does not come to an end. */
export function isHeldUp(pod: Pod): boolean {
  return lacksVolume(pod) || ["hangs", "crashes"].includes(tagOf(pod.spec?.initContainers?.[0]?.image));
}

/** Whether something runs beside etcd in this pod that may go wrong. */
export function hasAgent({ spec }: Pod): boolean {
  return spec?.containers?.some(({ image }) => tagOf(image) === "works") ?? false;
}

/** Why etcd does not even start, or ends at once, in this pod. */
export function whyItCannotStart(pod: Pod): string | undefined {
  const { version } = flagsOf(pod);
  if (Number(version.split(".")[2]) >= UNPUBLISHED_PATCH) return NO_IMAGE;
  return pod.metadata.annotations?.[CRASHES] === undefined ? undefined : "flag provided but not defined";
}

/** Why it ended when it ran last, as far as that is known. */
export function whyItEnded(pod: Pod): string {
  const last = pod.status?.containerStatuses?.find(({ name }) => name === "etcd")?.lastState;
  return last?.terminated?.message ?? "the process was killed";
}

/**
 * The kubelet's word on a pod: https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kubelet_pods.go (getPhase, and the
 * default reasons of containers that wait).
 * @param given.podIP none before the sandbox is there
 * @param given.ended why etcd's container does not run; undefined: it does
 * @param given.serves whether etcd passes its readiness probe
 * @param given.isUnmounted whether a Secret that the pod mounts is not to be had
 * @param given.isAgentIll whether what worked beside etcd ends again and again by now
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
  // It tells of them in the order of their names.
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
  return becomes === "crashes" ? crashed("the agent is out of sorts") : { state: { running: {} } };
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
