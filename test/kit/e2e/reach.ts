import { CLIENT_PORT, clientServiceName } from "#api/names.ts";
import type { Endpoint } from "#etcd/endpoint.ts";

// How does an application reach its cluster? By the DNS name of the client Service, and with TLS by the certificate in
// the Secret for applications: see client-secret.ts.

/** Where an application connects, and with which certificate. */
export interface Reach {
  /** The current endpoint; the same object as long as nothing has changed. */
  endpoint(): Endpoint;
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** The host name in members' certificates. */
export function serviceHost({ namespace, name }: Named): string {
  return `${clientServiceName(name)}.${namespace}.svc`;
}

/** The test machine resolves only full names of Services. */
export function serviceAddress(cluster: Named): string {
  return `${serviceHost(cluster)}.cluster.local:${CLIENT_PORT}`;
}

/** Without TLS. */
export function inPlaintext(cluster: Named): Reach {
  const endpoint = { address: serviceAddress(cluster) };
  return { endpoint: () => endpoint };
}
