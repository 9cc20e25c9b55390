import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** By what people have asked the operator to change nothing about the cluster, as a clause: "… is …"; `undefined` when they have not. */
export function pausedBy({ metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">): string | undefined {
  const said = [
    ...(spec.paused ? ["spec.paused is true"] : []),
    ...(metadata.annotations?.[PAUSED_ANNOTATION] === "true" ? [`the annotation ${PAUSED_ANNOTATION} is "true"`] : []),
  ];
  return said.length === 0 ? undefined : said.join(" and ");
}
