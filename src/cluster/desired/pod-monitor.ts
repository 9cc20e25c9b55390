import { isStale, withHash } from "#api/applied-hash.ts";
import { CLUSTER_LABEL, clusterLabels, METRICS_PORT_NAME, memberSelector, PEER_LABEL } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { apiVersionOf, type Draft, POD_MONITORS, type PodMonitor } from "#kube/kinds.ts";

/** Leads a Prometheus that an operator of its own runs to the members' metrics. Labels that people give to it stay. */
export function podMonitor(snapshot: ClusterSnapshot): Draft<PodMonitor> {
  const { namespace, name } = snapshot.cluster.metadata;
  return withHash<PodMonitor>({
    apiVersion: apiVersionOf(POD_MONITORS),
    kind: POD_MONITORS.kind,
    metadata: { namespace, name, labels: clusterLabels(name), ownerReferences: [ownedBy(snapshot)] },
    spec: {
      selector: { matchLabels: memberSelector(name) },
      podTargetLabels: [CLUSTER_LABEL, PEER_LABEL],
      podMetricsEndpoints: [{ port: METRICS_PORT_NAME, path: "/metrics" }],
    },
  });
}

/** Whether the live one has to be written: our wish has changed, or somebody changed where it leads. */
export function monitorDiffers(live: PodMonitor, wanted: Draft<PodMonitor>): boolean {
  return isStale(live, wanted) || fingerprint(essence(live)) !== fingerprint(essence(wanted));
}

/** What the definition of the kind fills in is not ours. */
function essence({ spec }: Pick<Draft<PodMonitor>, "spec">) {
  const { selector, podTargetLabels, podMetricsEndpoints, namespaceSelector } = spec ?? {};
  return {
    selector,
    podTargetLabels,
    isElsewhere: namespaceSelector !== undefined && Object.keys(namespaceSelector).length > 0,
    endpoints: podMetricsEndpoints?.map(({ port, path }) => ({ port, path })),
  };
}
