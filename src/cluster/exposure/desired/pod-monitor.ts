import { withHash } from "#api/applied-hash.ts";
import { hasMetadata, withGiven, withoutGiven } from "#api/given-metadata.ts";
import { CLUSTER_LABEL, clusterLabels, METRICS_PORT_NAME, memberSelector, PEER_LABEL } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import { ownedBy } from "#cluster/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { apiVersionOf, type Draft, POD_MONITORS, type PodMonitor } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";

/** Selects the members' metrics for a Prometheus that the Prometheus Operator runs. Labels that people add stay. */
export function podMonitor(snapshot: ClusterSnapshot): Draft<PodMonitor> {
  const { namespace, name } = snapshot.cluster.metadata;
  const given = snapshot.cluster.spec.monitoring?.podMonitor?.metadata;
  return withHash<PodMonitor>({
    apiVersion: apiVersionOf(POD_MONITORS),
    kind: POD_MONITORS.kind,
    metadata: { namespace, name, ...withGiven(clusterLabels(name), given), ownerReferences: [ownedBy(snapshot)] },
    spec: {
      selector: { matchLabels: memberSelector(name) },
      podTargetLabels: [CLUSTER_LABEL, PEER_LABEL],
      podMetricsEndpoints: [{ port: METRICS_PORT_NAME, path: "/metrics" }],
    },
  });
}

/** The PUT that turns the live PodMonitor into the desired one. Labels and annotations that people added stay. */
export function monitorPut(live: PodMonitor, wanted: Draft<PodMonitor>): PodMonitor {
  return replacing(withoutGiven(live), wanted);
}

/** Whether the live PodMonitor has to be written: the desired one has changed, or another client changed its target. */
export function monitorDiffers(live: PodMonitor, wanted: Draft<PodMonitor>): boolean {
  return !hasMetadata(live, wanted) || fingerprint(essence(live)) !== fingerprint(essence(wanted));
}

/** Without fields that the CRD fills in with defaults. */
function essence({ spec }: Pick<Draft<PodMonitor>, "spec">) {
  const { selector, podTargetLabels, podMetricsEndpoints, namespaceSelector } = spec ?? {};
  return {
    selector,
    podTargetLabels,
    isElsewhere: namespaceSelector !== undefined && Object.keys(namespaceSelector).length > 0,
    endpoints: podMetricsEndpoints?.map(({ port, path }) => ({ port, path })),
  };
}
