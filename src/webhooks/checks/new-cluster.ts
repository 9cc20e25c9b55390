import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";

/** The snapshot with which the operator would first see the cluster: only claims may exist already. */
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
    cluster: { apiVersion, kind, metadata, spec }, // without the status, which others may have written
    headlessService: undefined,
    clientService: undefined,
    budget: undefined,
    otherBudgets: [],
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
    unseenClaims: present([]),
    heard: new Set(),
    histories: new Map(),
  };
}
