import { CLIENT_PORT, clientServiceName } from "#api/names.ts";
import type { Endpoint } from "#etcd/endpoint.ts";

// How does an application reach its cluster?
//   By the DNS name of the client Service, and with TLS as whom the Secret for applications lets it: see client-secret.ts.

/** Where an application connects, and as whom. */
export interface Reach {
  /** As it was told last. The same object as long as nothing has changed. */
  endpoint(): Endpoint;
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** The name that the certificates of members have. */
export function serviceHost({ namespace, name }: Named): string {
  return `${clientServiceName(name)}.${namespace}.svc`;
}

/** The machine of the tests knows the names of Services in full alone. */
export function serviceAddress(cluster: Named): string {
  return `${serviceHost(cluster)}.cluster.local:${CLIENT_PORT}`;
}

/** Without TLS. */
export function inPlaintext(cluster: Named): Reach {
  const endpoint = { address: serviceAddress(cluster) };
  return { endpoint: () => endpoint };
}
