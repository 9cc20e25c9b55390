import type { SeenBinding } from "#cluster/snapshot.ts";
import { DAY_MS } from "./certificates.ts";
import { NOW } from "./cluster.ts";
import { OWN } from "./cluster-tls.ts";

/** The binding of EtcdUser shop, with certificate and trust of the operator's own CA. */
export function boundTo(change: Partial<SeenBinding> = {}): SeenBinding {
  return {
    user: "shop",
    secretName: "shop-binding",
    trustIds: [OWN.id],
    signerId: OWN.id,
    notAfterMs: NOW + 80 * DAY_MS,
    knownForMs: 150_000,
    madeAtMs: NOW - 80 * DAY_MS,
    reason: undefined,
    ...change,
  };
}
