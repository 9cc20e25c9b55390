// Why a connection over TLS failed, for people: which certificate is not believed, and by whom. OpenSSL's own words name neither.

/** What Node and OpenSSL tell of a failure: https://nodejs.org/api/tls.html#x509-certificate-error-codes, and `ERR_` with the reason. */
interface Told extends Error {
  readonly code: string;
  /** OpenSSL's, such as `tlsv1 alert unknown ca`. */
  readonly reason?: string;
}

/** The codes of OpenSSL's verification, and of Node's and OpenSSL's own errors. */
const CODE =
  /^(?:ERR_SSL_|ERR_TLS_|ERR_OSSL_|UNABLE_TO_|CERT_|CRL_|ERROR_IN_C|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|HOSTNAME_)/;

/** Alerts by which the other side says that it does not like our certificate: https://www.rfc-editor.org/rfc/rfc8446#section-6.2 */
const REFUSED =
  /ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_REVOKED|CERTIFICATE_EXPIRED|CERTIFICATE_UNKNOWN|UNKNOWN_CA|ACCESS_DENIED)/;

/** Node's, for who runs it by hand. */
const ADVICE = /; if the root CA is installed locally, try running Node\.js with .*$/;

/** Whether it failed for TLS, at any depth of its causes. */
export function isTlsFailure(thrown: unknown): boolean {
  return toldIn(thrown) !== undefined;
}

/**
 * Undefined when it failed for something else.
 * @param ours the Secret with the certificate that we show, if it is from one
 */
export function tlsFailureText(thrown: unknown, ours: string | undefined): string | undefined {
  const told = toldIn(thrown);
  if (told === undefined) return undefined;
  const mine = ours === undefined ? "our certificate" : `our certificate (Secret ${ours})`;
  const words = told.reason ?? told.message.replace(ADVICE, "");
  const { code } = told;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `its certificate is not for this name: ${told.message}`;
  if (code === "CERT_HAS_EXPIRED") return "its certificate, or that of its authority, has expired";
  if (code === "CERT_NOT_YET_VALID") return "its certificate, or that of its authority, is not valid yet";
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER") return "it does not speak TLS";
  if (code.includes("ALERT_CERTIFICATE_REQUIRED") || code.includes("ALERT_HANDSHAKE_FAILURE"))
    return `it wants a certificate that it can use, and got ${mine}: ${words}`;
  if (REFUSED.test(code)) return `it does not take ${mine}: ${words}`;
  if (code.startsWith("ERR_OSSL_")) return `${mine}, its key or whom we trust cannot be used: ${words}`;
  if (code.startsWith("ERR_")) return `no connection over TLS: ${words}`;
  return `its certificate is not signed by whom we trust${ours === undefined ? "" : ` (ca.crt of Secret ${ours})`}: ${words}`;
}

function toldIn(thrown: unknown): Told | undefined {
  if (!(thrown instanceof Error)) return undefined;
  return "code" in thrown && typeof thrown.code === "string" && CODE.test(thrown.code)
    ? (thrown as Told)
    : toldIn(thrown.cause);
}
