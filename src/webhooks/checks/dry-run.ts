import { editIn } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/** An edit to be explained that is none. @param before what was there; undefined for a new cluster */
export function dryRunRefusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  // What stands there already must keep nobody from editing the spec: the status tells of it.
  if (textOf(cluster) === textOf(before)) return [];
  const asked = editIn(cluster);
  return asked?.is === "refused" ? [{ field: `metadata.annotations[${DRY_RUN_ANNOTATION}]`, message: asked.why }] : [];
}

function textOf(cluster: EtcdCluster | undefined): string | undefined {
  return cluster?.metadata.annotations?.[DRY_RUN_ANNOTATION];
}
