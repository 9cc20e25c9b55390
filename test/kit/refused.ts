import { type EtcdRefusal, REFUSAL_TEXTS } from "#etcd/error.ts";

// Which words tell a client that it was refused, and not merely cut off?
//   Who tries everything once more does not feel a connection that breaks with its member. A certificate that is not believed, by either side, a
//   login that is not good or a right that is missing are something else: the next try may lead to a member that knows better, and hides that the
//   first one should have known, too.

/** Of a certificate: ours, OpenSSL's, Node's and Go's. */
const CERTIFICATE =
  /certificate|CERT_|whom we trust|SELF_SIGNED|UNABLE_TO_|ERR_SSL_|ERR_TLS_|altname|does not speak TLS|over TLS|x509:|tls: /;
/**
 * etcdctl was hung up on by whomever it reached, for all of its five seconds. Whose certificate is not believed may hear no more than that, since with
 * TLS 1.3 it has said its first word before it is refused (RFC 8446, 4.4.2.4). Where nobody listened it is told so.
 */
const HUNG_UP = /latest balancer error: .*(broken pipe|connection reset|EOF)/;
/** Of a login or a right: etcd's (api/v3rpc/rpctypes/error.go, server/auth/store.go). */
const ACCESS = /authentication failed|user name|user ID|invalid auth|permission denied|auth store|auth: /;

/** Those that etcd alone is to blame for, at the very moment when users come to be asked for, or change: see docs/limits.md. */
const KNOWN: readonly EtcdRefusal[] = ["UserEmpty", "AuthOldRevision"];

/** What of this tells of a certificate, a login or a right that was refused; none is expected. @param told what clients were told */
export function refusedIn(told: readonly string[]): readonly string[] {
  return told.filter((words) => {
    const isKnown = KNOWN.some((refusal) => words.includes(REFUSAL_TEXTS[refusal]));
    return !isKnown && [CERTIFICATE, HUNG_UP, ACCESS].some((each) => each.test(words));
  });
}
