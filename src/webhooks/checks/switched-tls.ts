import { BEYOND_V1ALPHA1_ANNOTATION } from "#api/names.ts";
import { hasTls, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

// Why again, when rules of the schema say the same?
//   Those of v1beta1 are not asked of what is written in v1alpha1, where all of spec.tls stands in an annotation. Whoever replaces the object
//   without it says that there is no TLS, of members that go on to speak it.

const WHERE = `; in v1alpha1 spec.tls stands in metadata.annotations[${BEYOND_V1ALPHA1_ANNOTATION}], which must be left as it was read`;

const WITHOUT = "it must be there: as it was, or with the provider None for a cluster that is to go on without";

/**
 * What of TLS may not become what it is.
 * @param before what was there; undefined for a new cluster @param written in which version of the API, such as v1alpha1
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
  // Who has lost it may get it back: whether members speak it is known to the operator alone.
  if (providerOf(before.spec, side) === "None") return [];
  // Who writes v1alpha1 without the annotation has not said so: the conversion has. Who is to go on without it says so.
  const isLost = spec.tls === undefined || (written === "v1alpha1" && !hasTls(spec));
  return isLost
    ? [{ field: "spec.tls", message: `it is missing, and members have TLS (${side}); ${WITHOUT}${WHERE}` }]
    : [];
}
