import { isTooDeep, TOO_DEEP } from "#api/shape.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/**
 * Refuses fields that are nested so deep that traversing them overflows the stack. Where the schema does not define the
 * content of a pod template, an API server accepts ten thousand levels.
 */
export function depthRefusals(spec: EtcdClusterSpec): readonly Refusal[] {
  const deep = Object.entries(spec).filter(([, value]) => isTooDeep(value));
  return deep.map(([field]) => ({ field: `spec.${field}`, message: TOO_DEEP }));
}
