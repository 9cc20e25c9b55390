import type { Side } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

// Why is that no wish for a cluster without TLS?
//   Whoever replaces the object by one that does not speak of TLS, or writes it in v1alpha1 without the annotation in which spec.tls rides, has
//   nothing to say about it. Without is who says so: provider None.

const SIDES: readonly Side[] = ["peer", "client"];

/** Why members keep the TLS that they have, although the spec does not speak of it any more. */
export function whyTlsSwitched({ cluster, peers }: ClusterSnapshot): readonly string[] {
  if (cluster.spec.tls !== undefined) return [];
  const has = SIDES.filter((side) => peers.some(({ spec }) => spec.tls?.[side] !== undefined));
  return has.map(
    (side) =>
      `spec.tls is missing, and members have TLS (${side}); it must be there: as it was, or with the provider None for a cluster that is to go on without`,
  );
}
