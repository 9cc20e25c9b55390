import { SPEC_LIMIT } from "#api/size-limit.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { whyTooLarge } from "#kube/object-size.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/**
 * Refuses an EtcdCluster that is too large for the operator to read: the schema cannot measure a pod template. Without
 * webhooks the operator reads only its name.
 */
export function sizeRefusals(cluster: EtcdCluster): readonly Refusal[] {
  const message = whyTooLarge(cluster, [SPEC_LIMIT]);
  return message === undefined ? [] : [{ field: SPEC_LIMIT.field, message }];
}
