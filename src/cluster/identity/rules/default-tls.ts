import { DEFAULT_TLS } from "#api/tls.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { isTlsOpen } from "#cluster-tls/effective/default-tls.ts";
import { step } from "#runtime/decide.ts";

/**
 * A new cluster without spec.tls uses TLS: that is written into its spec, where people can read it, before anything
 * else.
 */
export const defaultTls: ClusterRule = {
  name: "default-tls",
  holds: true,
  decide(snapshot) {
    if (!isTlsOpen(snapshot)) return undefined;
    const because =
      "spec.tls is not set: members and clients use TLS, with certificates that the operator issues. For a new cluster without TLS, set spec.tls.peer.provider and spec.tls.client.provider to None";
    return step(because, { do: "writeTls", tls: DEFAULT_TLS });
  },
};
