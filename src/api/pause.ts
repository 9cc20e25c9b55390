import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** What pauses the cluster, as a clause "… is …"; `undefined` when it is not paused. */
export function pausedBy({ metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">): string | undefined {
  const said = [
    ...(spec.paused ? ["spec.paused is true"] : []),
    ...(metadata.annotations?.[PAUSED_ANNOTATION] === "true" ? [`the annotation ${PAUSED_ANNOTATION} is "true"`] : []),
  ];
  return said.length === 0 ? undefined : said.join(" and ");
}

/** The cluster without its pause. */
export function withoutPause(cluster: EtcdCluster): EtcdCluster {
  const { [PAUSED_ANNOTATION]: _, ...annotations } = cluster.metadata.annotations ?? {};
  return { ...cluster, metadata: { ...cluster.metadata, annotations }, spec: { ...cluster.spec, paused: false } };
}
