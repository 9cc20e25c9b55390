import { BEYOND_V1ALPHA1_ANNOTATION } from "#api/names.ts";
import { hasTls, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

// Why is this checked again, when schema rules do the same?
//   Those of v1beta1 do not cover objects written in v1alpha1, where spec.tls is in an annotation. Replacing the object
//   without that annotation would remove TLS from a cluster with members that use it.

const WHERE = `; in v1alpha1 spec.tls is in metadata.annotations[${BEYOND_V1ALPHA1_ANNOTATION}], which must be left as it was read`;

const WITHOUT = "set it as it was, or set provider None to turn TLS off";

/**
 * Refuses to remove spec.tls from a cluster with TLS.
 * @param before the stored object; undefined for a new cluster @param written the API version in which it was written,
 * such as v1alpha1
 */
export function switchedTlsRefusals(
  cluster: EtcdCluster,
  before: EtcdCluster | undefined,
  written: string,
): readonly Refusal[] {
  if (before === undefined) return [];
  return (["peer", "client"] as const).flatMap((side) => sideRefusals(cluster, before, side, written));
}

function sideRefusals({ spec }: EtcdCluster, before: EtcdCluster, side: Side, written: string): readonly Refusal[] {
  // A stored object without TLS may get it: only the operator knows whether members use it.
  if (providerOf(before.spec, side) === "None") return [];
  // A v1alpha1 object without the annotation means TLS was lost in conversion. TLS is switched off only explicitly.
  const isLost = spec.tls === undefined || (written === "v1alpha1" && !hasTls(spec));
  return isLost
    ? [{ field: "spec.tls", message: `it is missing, but members use TLS (${side}); ${WITHOUT}${WHERE}` }]
    : [];
}
