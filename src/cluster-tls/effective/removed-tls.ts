import type { Side } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

// Why is a missing spec.tls not a request to turn TLS off?
//   A user may replace the object with a manifest that does not mention TLS, or write it as v1alpha1 without the
//   annotation that carries spec.tls. To turn TLS off, set provider: None.

const SIDES: readonly Side[] = ["peer", "client"];

/** Why members keep their TLS although spec.tls is missing: one message for each side. */
export function whyTlsRemoved({ cluster, peers }: ClusterSnapshot): readonly string[] {
  if (cluster.spec.tls !== undefined) return [];
  const has = SIDES.filter((side) => peers.some(({ spec }) => spec.tls?.[side] !== undefined));
  return has.map(
    (side) =>
      `spec.tls is missing, but members use TLS (${side}); set it as it was, or set provider None to turn TLS off`,
  );
}
