import { ETCD_CONTAINER } from "#api/names.ts";
import type { Pod } from "#kube/kinds.ts";

/** State of etcd's container. */
export type ContainerState =
  | { readonly is: "running"; readonly startedAt: string; readonly isReady: boolean }
  | { readonly is: "crashed"; readonly message: string };

const NODE_ADDRESS = "10.88.0.101";

/** Pod status with one container, with every field that a real kubelet writes: its bytes cost time to read. */
export function podStatus(pod: Pod, address: string, container: ContainerState, restartCount: number, now: string) {
  const image = pod.spec?.containers?.[0]?.image ?? "";
  const isReady = container.is === "running" && container.isReady;
  const ready = isReady ? "True" : "False";
  const condition = (type: string, status: string) => {
    const before = pod.status?.conditions?.find((each) => each.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    return { type, status, lastProbeTime: null, lastTransitionTime, observedGeneration: pod.metadata.generation ?? 1 };
  };
  return {
    phase: "Running",
    hostIP: NODE_ADDRESS,
    hostIPs: [{ ip: NODE_ADDRESS }],
    podIP: address,
    podIPs: [{ ip: address }],
    startTime: pod.status?.startTime ?? now,
    qosClass: "BestEffort",
    conditions: [
      condition("PodReadyToStartContainers", "True"),
      condition("Initialized", "True"),
      condition("Ready", ready),
      condition("ContainersReady", ready),
      condition("PodScheduled", "True"),
    ],
    containerStatuses: [
      {
        name: ETCD_CONTAINER,
        ...stateOf(container, now),
        ready: isReady,
        started: container.is === "running",
        restartCount,
        image,
        imageID: `${image.split(":")[0]}@sha256:${"0".repeat(64)}`,
        containerID: `containerd://${pod.metadata.uid.replaceAll("-", "")}${"0".repeat(32)}`,
      },
    ],
  };
}

function stateOf(container: ContainerState, now: string): object {
  if (container.is === "running") return { state: { running: { startedAt: container.startedAt } }, lastState: {} };
  const { message } = container;
  const terminated = { exitCode: 1, reason: "Error", message, startedAt: now, finishedAt: now };
  return { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated } };
}
