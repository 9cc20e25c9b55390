import { CLUSTER_LABEL } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdClusterStatus } from "#api/v1alpha1/cluster.ts";
import { fingerprint } from "#base/hash.ts";
import { actOnCluster, type ClusterWrites, writeStatus } from "#cluster/act.ts";
import { HealthLog } from "#cluster/health-log.ts";
import { type ClusterReads, observeCluster } from "#cluster/observe.ts";
import { type ClusterStep, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { apiVersionOf, type KubeObject } from "#kube/kinds.ts";
import type { Controller, Key } from "#runtime/controller.ts";

/** A settled cluster's members are asked how they are this often, in milliseconds; the API server is not asked at all. */
const HEALTH_EVERY_MS = 10_000;

/** What every cluster goes through while it is formed; `record-identity` and `record-joined` tell of it. */
const ROUTINE = new Set([
  "headless-service createService",
  "bootstrap createPeer",
  "client-service createService",
  "disruption-budget createBudget",
  "fence replacePeer",
]);

/** The room of EtcdCluster: observe, plan, act and status joined. */
export function clusterController(
  writes: ClusterWrites,
  reads: ClusterReads,
): Controller<ClusterSnapshot, ClusterStep, EtcdClusterStatus> {
  const healthLog = new HealthLog();
  return {
    name: "cluster",
    restMs: HEALTH_EVERY_MS,
    routine: ROUTINE,
    observe: (key, signal) => observeCluster(reads, healthLog, key, signal),
    plan: planCluster,
    act: (step, snapshot, signal) => actOnCluster(writes, step, snapshot, signal),
    status: clusterStatus,
    writeStatus: (snapshot, status, signal) => {
      const isSame = fingerprint(status) === fingerprint(snapshot.cluster.status ?? {});
      return isSame ? Promise.resolve(undefined) : writeStatus(writes.kube, snapshot, status, signal);
    },
    subject: ({ cluster }) => ({
      apiVersion: apiVersionOf(ETCD_CLUSTERS),
      kind: ETCD_CLUSTERS.kind,
      namespace: cluster.metadata.namespace,
      name: cluster.metadata.name,
      uid: cluster.metadata.uid,
    }),
  };
}

/** The cluster that a labelled object belongs to: peers, claims, pods, Services and budgets all carry the label. */
export function clusterKeysFor(object: KubeObject): readonly Key[] {
  const name = object.metadata.labels?.[CLUSTER_LABEL];
  const { namespace } = object.metadata;
  return name === undefined || namespace === undefined ? [] : [{ namespace, name }];
}
