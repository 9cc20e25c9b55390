// Readable messages for failed TLS connections: which certificate is not trusted, and by which side. OpenSSL's own
// messages state neither.

/**
 * A TLS error of Node or OpenSSL. Codes: https://nodejs.org/api/tls.html#x509-certificate-error-codes, or `ERR_...`.
 */
interface TlsError extends Error {
  readonly code: string;
  /** OpenSSL's reason, such as `tlsv1 alert unknown ca`. */
  readonly reason?: string;
}

/** Error codes that mean TLS: of OpenSSL's certificate verification, of Node's TLS module and of OpenSSL itself. */
const CODE =
  /^(?:ERR_SSL_|ERR_TLS_|ERR_OSSL_|UNABLE_TO_|CERT_|CRL_|ERROR_IN_C|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|HOSTNAME_)/;

/**
 * TLS alerts with which the server rejects our client certificate: https://www.rfc-editor.org/rfc/rfc8446#section-6.2
 */
const REFUSED =
  /ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_REVOKED|CERTIFICATE_EXPIRED|CERTIFICATE_UNKNOWN|UNKNOWN_CA|ACCESS_DENIED)/;

/** Advice that Node appends for its command line; it does not help users of the operator. */
const ADVICE = /; if the root CA is installed locally, try running Node\.js with .*$/;

/** Whether the error or one of its causes is a TLS failure. */
export function isTlsFailure(thrown: unknown): boolean {
  return tlsErrorIn(thrown) !== undefined;
}

/**
 * Message for a TLS failure. Undefined when the failure has another cause.
 * @param ours the Secret with our client certificate; undefined when it is not from a Secret
 */
export function tlsFailureText(thrown: unknown, ours: string | undefined): string | undefined {
  const error = tlsErrorIn(thrown);
  if (error === undefined) return undefined;
  const mine = ours === undefined ? "our certificate" : `our certificate (Secret ${ours})`;
  const words = error.reason ?? error.message.replace(ADVICE, "");
  const { code } = error;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `its certificate is not for this name: ${error.message}`;
  if (code === "CERT_HAS_EXPIRED") return "its certificate, or that of its authority, has expired";
  if (code === "CERT_NOT_YET_VALID") return "its certificate, or that of its authority, is not valid yet";
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER") return "the server does not use TLS on this port";
  if (code.includes("ALERT_CERTIFICATE_REQUIRED") || code.includes("ALERT_HANDSHAKE_FAILURE"))
    return `the server requires another client certificate than ${mine}: ${words}`;
  if (REFUSED.test(code)) return `the server rejects ${mine}: ${words}`;
  if (code.startsWith("ERR_OSSL_")) return `${mine}, its key or our CA bundle cannot be used: ${words}`;
  if (code.startsWith("ERR_")) return `no connection over TLS: ${words}`;
  return `its certificate is not signed by a CA that is trusted here${ours === undefined ? "" : ` (ca.crt of Secret ${ours})`}: ${words}`;
}

function tlsErrorIn(thrown: unknown): TlsError | undefined {
  if (!(thrown instanceof Error)) return undefined;
  return "code" in thrown && typeof thrown.code === "string" && CODE.test(thrown.code)
    ? (thrown as TlsError)
    : tlsErrorIn(thrown.cause);
}
