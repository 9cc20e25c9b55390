/** TLS configuration of a connection; certificates and key are PEM text. */
export interface TlsIdentity {
  /** CA bundle to trust: one certificate, or several during a rotation of the CA. */
  readonly ca: string;
  /** Our client certificate with its chain. */
  readonly cert: string;
  readonly key: string;
  /** DNS name that the member's certificate must be valid for, since we connect to IP addresses. Also sent as SNI. */
  readonly serverName: string;
  /** The Secret with our client certificate, for messages. Undefined when it is not from a Secret. */
  readonly secretName?: string | undefined;
}

/** Client address of one member, with TLS configuration. */
export interface Endpoint {
  /** Host and port of the client URL; IPv6 addresses in brackets. Example: `10.88.1.5:2379`. */
  readonly address: string;
  /** Undefined: plain HTTP/2 (h2c). */
  readonly tls?: TlsIdentity | undefined;
}

/**
 * Options for every TLS connection. An intermediate CA in the bundle is a sufficient trust anchor, as for etcd and
 * etcdctl. Node's default requires the chain to end in a self-signed root.
 */
export const TLS_COMMON = { minVersion: "TLSv1.2", allowPartialTrustChain: true } as const;

/** Options for Node's TLS connections. */
export function tlsOptions({ ca, cert, key, serverName }: TlsIdentity) {
  return { ...TLS_COMMON, ca, cert, key, servername: serverName };
}
