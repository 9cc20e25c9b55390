import { BEYOND_V1ALPHA1_ANNOTATION } from "#api/names.ts";
import { providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

// Why again, when rules of the schema say the same?
//   Those of v1beta1 are not asked of what is written in v1alpha1, where all of spec.tls stands in an annotation. Whoever replaces the object
//   without it would take TLS away from members that go on to speak it.

const LATER = "cannot yet be changed on a cluster that exists; make another cluster from a backup";
const WHERE = `; in v1alpha1 spec.tls stands in metadata.annotations[${BEYOND_V1ALPHA1_ANNOTATION}], which must be left as it was read`;

/** What of TLS may not become what it is. @param before what was there; undefined for a new cluster */
export function switchedTlsRefusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  if (before === undefined) return [];
  return (["peer", "client"] as const).flatMap((side) => sideRefusals(cluster, before, side));
}

function sideRefusals({ spec }: EtcdCluster, before: EtcdCluster, side: Side): readonly Refusal[] {
  const [is, was] = [providerOf(spec, side), providerOf(before.spec, side)];
  // Who has lost it may get it back: whether members speak it is known to the operator alone.
  if (was === "None") return [];
  const field = `spec.tls.${side}`;
  if (is !== was)
    return [
      {
        field: `${field}.provider`,
        message: `it is ${is}, and was ${was}; it ${LATER}${spec.tls === undefined ? WHERE : ""}`,
      },
    ];
  const named = (of: EtcdCluster["spec"]) => of.tls?.[side]?.secret;
  if (is !== "Secret" || isSameData(named(spec), named(before.spec))) return [];
  return [{ field: `${field}.secret`, message: `it names other Secrets than before; it ${LATER}` }];
}
