import { isTooDeep, TOO_DEEP } from "#api/shape.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/**
 * What is nested so deep that whoever walks through it runs out of stack. Where the schema says nothing of what a pod template holds, an API server takes ten
 * thousand levels.
 */
export function depthRefusals(spec: EtcdClusterSpec): readonly Refusal[] {
  const deep = Object.entries(spec).filter(([, value]) => isTooDeep(value));
  return deep.map(([field]) => ({ field: `spec.${field}`, message: TOO_DEEP }));
}
