import { type EtcdRefusal, REFUSAL_TEXTS } from "#etcd/error.ts";

// Which errors mean that a client was refused, and not merely cut off? A client that retries everything does not notice
// a connection that breaks with its member. A rejected certificate, a failed login or a missing permission is
// different. The next try may lead to a member that accepts the client, and hide that the first one refused it.

/** Errors about a certificate: ours, OpenSSL's, Node's and Go's. */
const CERTIFICATE =
  /certificate|CERT_|CA bundle|SELF_SIGNED|UNABLE_TO_|ERR_SSL_|ERR_TLS_|altname|does not use TLS|over TLS|x509:|tls: /;
/**
 * Every member closed etcdctl's connections for all of its five seconds. A client with a rejected certificate may get
 * no other error. With TLS 1.3 it sends its first data before it is refused (RFC 8446, 4.4.2.4). A port on which
 * nothing listens gives another error.
 */
const HUNG_UP = /latest balancer error: .*(broken pipe|connection reset|EOF)/;
/** Errors about a login or a permission: etcd's (api/v3rpc/rpctypes/error.go, server/auth/store.go). */
const ACCESS = /authentication failed|user name|user ID|invalid auth|permission denied|auth store|auth: /;

/** Errors of etcd itself at the moment when authentication is enabled, or users change: see docs/limits.md. */
const KNOWN: readonly EtcdRefusal[] = ["UserEmpty", "AuthOldRevision"];

/**
 * Errors about a rejected certificate, login or permission; none is expected.
 * @param told errors of clients
 */
export function refusedIn(told: readonly string[]): readonly string[] {
  return told.filter((words) => {
    const isKnown = KNOWN.some((refusal) => words.includes(REFUSAL_TEXTS[refusal]));
    return !isKnown && [CERTIFICATE, HUNG_UP, ACCESS].some((each) => each.test(words));
  });
}
