import { CLIENT_PORT, CLIENT_SCHEME_ANNOTATION, CLUSTER_LABEL, ETCD_CONTAINER, peerHost } from "#api/names.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress, hostnameOf } from "#kube/pod.ts";

// Is a member dialled over TLS?
//   An annotation of its pod decides, since a change of the cluster's spec may not have reached the pod yet.

/** The operator's client certificate for the members of one cluster, and the CAs that it trusts there; all PEM text. */
export type Identity = Omit<TlsIdentity, "serverName">;

/** The operator's client certificates in memory. */
export interface Identities {
  /**
   * Returns the same object until something changes: connections are pooled by it.
   * @returns undefined while the Secret has not been read
   */
  identityOf(cluster: { readonly namespace: string; readonly name: string }): Identity | undefined;
}

/** For clusters without TLS. */
export const noIdentities: Identities = { identityOf: () => undefined };

/**
 * Address of the member of this pod: the pod's IP, so that no DNS is needed or trusted. `absent` while the pod has
 * none; `unknown` when the member requires TLS and the operator has no certificate for it.
 */
export function endpointOf(pod: Pod, identities: Identities): Observed<Endpoint> {
  const address = dialAddress(pod, ETCD_CONTAINER, CLIENT_PORT);
  if (address === undefined) return absent;
  const { namespace = "" } = pod.metadata;
  return endpointAt(address, pod, peerHost(namespace, clusterOf(pod), hostnameOf(pod)), identities);
}

/**
 * Address of all members through a Service.
 * @param pod a pod behind the Service: all members of a cluster use the same scheme
 * @param serverName name of the Service, which every member's certificate includes
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
    return unknown(
      `${address} requires TLS, and the operator has not read its client certificate for this cluster yet`,
    );
  return present({ address, tls: tlsIdentity(identity, serverName) });
}

function clusterOf({ metadata }: Pod): string {
  return metadata.labels?.[CLUSTER_LABEL] ?? "";
}

const named = new WeakMap<Identity, Map<string, TlsIdentity>>();

/** Returns the same object for the same identity and name. */
function tlsIdentity(identity: Identity, serverName: string): TlsIdentity {
  const byName = named.get(identity) ?? new Map<string, TlsIdentity>();
  named.set(identity, byName);
  const known = byName.get(serverName) ?? new NamedIdentity(identity, serverName);
  byName.set(serverName, known);
  return known;
}

/** Printing it, or converting it to JSON, shows only the name. */
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
