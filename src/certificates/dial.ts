import { CLIENT_PORT, CLIENT_SCHEME_ANNOTATION, CLUSTER_LABEL, ETCD_CONTAINER, peerHost } from "#api/names.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress, hostnameOf } from "#kube/pod.ts";

// Who says whether a member is asked over TLS?
//   Its own pod, by an annotation that it was made with: what the cluster's spec says may not have reached it yet.

/** With what the operator shows itself to the members of one cluster, and whom it trusts there; all of it PEM text. */
export type Identity = Omit<TlsIdentity, "serverName">;

/** What the operator has in memory of the Secrets of clusters. */
export interface Identities {
  /**
   * Gives the same object as long as nothing has changed: connections are kept by it.
   * @returns undefined while nothing could be read of the Secret
   */
  identityOf(cluster: { readonly namespace: string; readonly name: string }): Identity | undefined;
}

/** For clusters that have no TLS. */
export const noIdentities: Identities = { identityOf: () => undefined };

/**
 * Where the member of this pod is asked: at the pod's address, since no DNS has to work then, and none can lie. `absent` while it has none;
 * `unknown` when it speaks TLS and the operator has no certificate that it could show.
 */
export function endpointOf(pod: Pod, identities: Identities): Observed<Endpoint> {
  const address = dialAddress(pod, ETCD_CONTAINER, CLIENT_PORT);
  if (address === undefined) return absent;
  const { namespace = "" } = pod.metadata;
  return endpointAt(address, pod, peerHost(namespace, clusterOf(pod), hostnameOf(pod)), identities);
}

/**
 * Where all members are asked through a Service.
 * @param pod one of those to which it leads: all of a cluster speak alike
 * @param serverName the name of the Service, which every member's certificate has, too
 */
export function endpointAt(
  address: string,
  pod: Pod | undefined,
  serverName: string,
  identities: Identities,
): Observed<Endpoint> {
  if (pod?.metadata.annotations?.[CLIENT_SCHEME_ANNOTATION] !== "https") return present({ address });
  const { namespace = "" } = pod.metadata;
  const identity = identities.identityOf({ namespace, name: clusterOf(pod) });
  if (identity === undefined)
    return unknown(`${address} speaks TLS, and the operator has read no certificate of its own for this cluster yet`);
  return present({ address, tls: tlsIdentity(identity, serverName) });
}

function clusterOf({ metadata }: Pod): string {
  return metadata.labels?.[CLUSTER_LABEL] ?? "";
}

const named = new WeakMap<Identity, Map<string, TlsIdentity>>();

/** The same object for the same identity and name. */
function tlsIdentity(identity: Identity, serverName: string): TlsIdentity {
  const byName = named.get(identity) ?? new Map<string, TlsIdentity>();
  named.set(identity, byName);
  const known = byName.get(serverName) ?? new NamedIdentity(identity, serverName);
  byName.set(serverName, known);
  return known;
}

/** Whoever prints it, or makes JSON of it, sees the name alone. */
class NamedIdentity implements TlsIdentity {
  readonly #identity: Identity;
  readonly serverName: string;

  constructor(identity: Identity, serverName: string) {
    this.#identity = identity;
    this.serverName = serverName;
  }

  get ca(): string {
    return this.#identity.ca;
  }

  get cert(): string {
    return this.#identity.cert;
  }

  get key(): string {
    return this.#identity.key;
  }

  get secretName(): string | undefined {
    return this.#identity.secretName;
  }
}
