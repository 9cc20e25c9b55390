import { clusterLabels, memberLabels } from "#api/names.ts";

/** Bytes of managedFields in a pod that a ReplicaSet made and a kubelet updated: measured on a member's pod. */
const MANAGED_FIELDS_BYTES = 3_000;
const MEMBERS = 3;

/**
 * A member's pod as the API server sends it, in JSON.
 * @param n 0 or more; three consecutive numbers belong to one cluster
 */
export function podJson(n: number, resourceVersion: number): string {
  const cluster = `cluster-${Math.floor(n / MEMBERS)}`;
  const name = `${cluster}-${n % MEMBERS}`;
  const condition = (type: string) => ({
    type,
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: 1,
  });
  const environment = Array.from({ length: 10 }, (_, index) => ({
    name: `ETCD_VARIABLE_${index}`,
    value: `http://${name}.${cluster}.bench.svc:2380`,
  }));
  return JSON.stringify({
    kind: "Pod",
    apiVersion: "v1",
    metadata: {
      name: `${name}-abcde`,
      generateName: `${name}-`,
      namespace: "bench",
      uid: `00000000-0000-0000-0000-${String(n).padStart(12, "0")}`,
      resourceVersion: String(resourceVersion),
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { ...clusterLabels(cluster), ...memberLabels(cluster, name) },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: `${n}`, controller: true, blockOwnerDeletion: true },
      ],
      managedFields: [{ manager: "kubelet", operation: "Update", fieldsV1: { f: "x".repeat(MANAGED_FIELDS_BYTES) } }],
    },
    spec: {
      hostname: name,
      subdomain: cluster,
      nodeName: `node-${n % 100}`,
      volumes: [{ name: "etcd-data", persistentVolumeClaim: { claimName: name } }],
      containers: [{ name: "etcd", image: "gcr.io/etcd-development/etcd:v3.6.16", env: environment }],
    },
    status: {
      phase: "Running",
      hostIP: "10.88.0.101",
      hostIPs: [{ ip: "10.88.0.101" }],
      podIP: "10.88.1.5",
      podIPs: [{ ip: "10.88.1.5" }],
      startTime: "2026-01-01T00:00:00Z",
      qosClass: "BestEffort",
      conditions: ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(
        condition,
      ),
      containerStatuses: [
        {
          name: "etcd",
          state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
          lastState: {},
          ready: true,
          restartCount: 0,
          image: "gcr.io/etcd-development/etcd:v3.6.16",
          containerID: `containerd://${"0".repeat(64)}`,
          started: true,
        },
      ],
    },
  });
}
