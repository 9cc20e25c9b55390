import { DEFAULT_TLS } from "#api/tls.ts";
import { isTlsOpen } from "#cluster/default-tls.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** A new cluster of which nobody has said whether it speaks TLS does: that is written into its spec, where it can be read, before anything else. */
export const defaultTls: ClusterRule = {
  name: "default-tls",
  holds: true,
  decide(snapshot) {
    if (!isTlsOpen(snapshot)) return undefined;
    const because =
      "spec.tls is not given: members and clients speak TLS, and the operator issues the certificates; a new cluster without TLS is one whose spec.tls.peer.provider and spec.tls.client.provider are None";
    return step("default-tls", because, { do: "writeTls", tls: DEFAULT_TLS });
  },
};
