import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/**
 * Refuses peers that would allow more traffic than intended. @param before the stored spec; undefined for a new cluster
 */
export function networkPolicyRefusals(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly Refusal[] {
  return isSameData(spec.networkPolicy, before?.networkPolicy) ? [] : whyNotNetworkPolicy(spec.networkPolicy);
}
