/** What a connection over TLS needs to know; all of it PEM text. */
export interface TlsIdentity {
  /** Whom to trust: one certificate or several, during a rotation of the CA. */
  readonly ca: string;
  /** Our own certificate, with its chain. */
  readonly cert: string;
  readonly key: string;
  /** The DNS name that the member's certificate must carry: we connect to IP addresses. Also sent as SNI. */
  readonly serverName: string;
  /** The Secret that our own certificate is from, for people. Undefined: it is from somewhere else. */
  readonly secretName?: string | undefined;
}

/** Where to reach one member. */
export interface Endpoint {
  /** Host and port of the client URL; IPv6 addresses in brackets. Example: `10.88.1.5:2379`. */
  readonly address: string;
  /** Undefined: plain HTTP/2 (h2c). */
  readonly tls?: TlsIdentity | undefined;
}

/**
 * For every connection over TLS: of whom an authority is trusted, be it an intermediate one, that one vouches, as for etcd and etcdctl. Node by
 * itself asks for the one that signs itself.
 */
export const TLS_COMMON = { minVersion: "TLSv1.2", allowPartialTrustChain: true } as const;

/** What Node is told of a connection over TLS. */
export function tlsOptions({ ca, cert, key, serverName }: TlsIdentity) {
  return { ...TLS_COMMON, ca, cert, key, servername: serverName };
}
