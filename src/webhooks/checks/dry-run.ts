import { editIn } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/** Refuses an invalid edit in the dry-run annotation. @param before the stored object; undefined for a new cluster */
export function dryRunRefusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  // A stored invalid edit is reported in the status, and must not block edits of the spec.
  if (textOf(cluster) === textOf(before)) return [];
  const asked = editIn(cluster);
  return asked?.is === "refused" ? [{ field: `metadata.annotations[${DRY_RUN_ANNOTATION}]`, message: asked.why }] : [];
}

function textOf(cluster: EtcdCluster | undefined): string | undefined {
  return cluster?.metadata.annotations?.[DRY_RUN_ANNOTATION];
}
