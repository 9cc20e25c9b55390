import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { networkPolicySchema } from "#api/v1beta1/network-policy-schema.ts";

type NetworkPolicySpec = NonNullable<EtcdClusterSpec["networkPolicy"]>;
type Peers = NonNullable<NetworkPolicySpec["clients"]["from"]>;

/** A wish for a NetworkPolicy with the defaults of the schema. */
export const RESTRICTED: NetworkPolicySpec = networkPolicySchema.parse({
  enabled: true,
  clients: { policy: "Namespace" },
});

/** A wish for a NetworkPolicy that admits these clients. They need not be valid. */
export function admitting(clients: readonly object[], metrics: readonly object[] = []): NetworkPolicySpec {
  const listed = (peers: readonly object[]) => ({ policy: "Listed" as const, from: peers as Peers });
  return { enabled: true, clients: listed(clients), metrics: listed(metrics) };
}
