import { WAIVE_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { waiversIn } from "#api/waivers.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/** What nobody may waive, or not so. @param before what was there; undefined for a new cluster */
export function waiverRefusals(
  cluster: EtcdCluster,
  before: EtcdCluster | undefined,
  nowMs: number,
): readonly Refusal[] {
  // What stands there already counts for nothing, and must keep nobody from editing the spec.
  const known = before === undefined ? [] : waiversIn(before, nowMs).refused;
  const field = `metadata.annotations[${WAIVE_ANNOTATION}]`;
  return waiversIn(cluster, nowMs)
    .refused.filter((message) => !known.includes(message))
    .map((message) => ({ field, message }));
}
