import { PEER_LABEL } from "#api/names.ts";
import { CLUSTER_INDEX } from "#cluster/observe/cached-parts.ts";
import { keyText } from "#runtime/controller.ts";
import { isIn } from "#shards/belonging.ts";
import type { Managed } from "./health-metrics.ts";
import type { World } from "./world.ts";

/**
 * Kubernetes copies this label of a node to its pods from 1.35 on
 * (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#podtopologylabels).
 */
const ZONE_LABEL = "topology.kubernetes.io/zone";

/**
 * The clusters that these worlds manage now. Worlds of a standby have none, so that no cluster is counted twice.
 * Clusters that are too large to be read are included.
 */
export function managedClusters(
  worlds: readonly Pick<World, "caches" | "lastChecks" | "leads" | "ledSinceMs" | "shard">[],
): readonly Managed[] {
  return worlds
    .filter(({ leads }) => leads())
    .flatMap(({ caches, lastChecks, ledSinceMs, shard }) =>
      caches.clusters
        .list("known")
        .filter(({ metadata: { namespace, name } }) => shard === undefined || isIn(shard, namespace, name))
        .map((cluster) => {
          const pods = caches.pods.byIndex(CLUSTER_INDEX, keyText(cluster.metadata), "known");
          const zones = pods.flatMap(({ metadata: { labels } }) => {
            const [member, zone] = [labels?.[PEER_LABEL], labels?.[ZONE_LABEL]];
            return member === undefined || zone === undefined ? [] : [[member, zone] as const];
          });
          return { cluster, check: lastChecks.of(cluster.metadata), ledSinceMs, zones: new Map(zones) };
        }),
    );
}
