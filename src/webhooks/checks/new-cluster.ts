import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";

/** The cluster as the operator would see it first: of all that may be there already only its claims are. */
export function newCluster(
  { apiVersion, kind, metadata, spec }: EtcdCluster,
  claims: readonly PersistentVolumeClaim[],
): ClusterSnapshot {
  return {
    takenAtMs: 0,
    replaceAfterMs: 0,
    memberTimeoutMs: 0,
    defaultTimes: { replaceAfterMs: 0, memberTimeoutMs: 0 },
    rereadWithinMs: 0,
    operatorNamespace: "",
    cluster: { apiVersion, kind, metadata, spec }, // its status is what others say
    headlessService: undefined,
    clientService: undefined,
    budget: undefined,
    networkPolicy: undefined,
    podMonitor: undefined,
    certificates: undefined,
    auth: undefined,
    schedules: [],
    sourceBackups: [],
    peers: [],
    foreignPeers: [],
    restore: undefined,
    claims,
    pods: new Map(),
    endpoints: new Map(),
    unpublished: new Map(),
    members: { is: "unknown", why: "there are no members yet" },
    throughService: undefined,
    heard: new Set(),
    histories: new Map(),
  };
}
