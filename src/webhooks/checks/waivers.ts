import { WAIVE_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { waiversIn } from "#api/waivers.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/** Refuses invalid waivers. @param before the stored object; undefined for a new cluster */
export function waiverRefusals(
  cluster: EtcdCluster,
  before: EtcdCluster | undefined,
  nowMs: number,
): readonly Refusal[] {
  // Stored invalid waivers have no effect, and must not block edits of the spec.
  const known = before === undefined ? [] : waiversIn(before, nowMs).refused;
  const field = `metadata.annotations[${WAIVE_ANNOTATION}]`;
  return waiversIn(cluster, nowMs)
    .refused.filter((message) => !known.includes(message))
    .map((message) => ({ field, message }));
}
