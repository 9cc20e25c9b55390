import { expect, test } from "vitest";
import { isTlsFailure, tlsFailureText } from "./tls-failure.ts";

/** An error as Node throws it: its code, and OpenSSL's reason if it is OpenSSL's. */
function failed(code: string, message = "words", reason?: string): Error {
  return Object.assign(new Error(message), { code, ...(reason === undefined ? {} : { reason }) });
}

const SECRET = "my-etcd-operator-tls";
const OURS = `our certificate (Secret ${SECRET})`;

const cases: readonly (readonly [Error, string])[] = [
  [
    failed("ERR_TLS_CERT_ALTNAME_INVALID", "Host: a. is not in the cert's altnames: DNS:b"),
    "its certificate is not for this name: Host: a. is not in the cert's altnames: DNS:b",
  ],
  [failed("CERT_HAS_EXPIRED"), "its certificate, or that of its authority, has expired"],
  [failed("CERT_NOT_YET_VALID"), "its certificate, or that of its authority, is not valid yet"],
  ...["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERT_SIGNATURE_FAILURE", "INVALID_CA"].map(
    (code) =>
      [
        failed(code),
        `its certificate is not signed by a CA that is trusted here (ca.crt of Secret ${SECRET}): words`,
      ] as const,
  ),
  [
    failed("ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", "40E39C7F7A7F0000:error:0A000418", "tlsv1 alert unknown ca"),
    `the server rejects ${OURS}: tlsv1 alert unknown ca`,
  ],
  ...["BAD_CERTIFICATE", "CERTIFICATE_EXPIRED", "CERTIFICATE_UNKNOWN"].map(
    (alert) => [failed(`ERR_SSL_SSL/TLS_ALERT_${alert}`), `the server rejects ${OURS}: words`] as const,
  ),
  ...["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE"].map(
    (code) => [failed(code), `the server requires another client certificate than ${OURS}: words`] as const,
  ),
  [failed("ERR_OSSL_PEM_NO_START_LINE"), `${OURS}, its key or our CA bundle cannot be used: words`],
  [failed("ERR_SSL_WRONG_VERSION_NUMBER"), "the server does not use TLS on this port"],
  [failed("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"), "no connection over TLS: words"],
];

test.each(cases)("TLS error %o has a message of the operator", (thrown, text) => {
  expect(tlsFailureText(thrown, SECRET)).toBe(text);
  expect(isTlsFailure(thrown)).toBe(true);
});

test("Node's advice to a local user is removed from the message", () => {
  const advice = "; if the root CA is installed locally, try running Node.js with --use-system-ca";
  const thrown = failed("UNABLE_TO_VERIFY_LEAF_SIGNATURE", `unable to verify the first certificate${advice}`);
  const text = "its certificate is not signed by a CA that is trusted here: unable to verify the first certificate";
  expect(tlsFailureText(thrown, undefined)).toBe(text);
});

test("a TLS error is found in nested causes, and its message names no Secret when none is known", () => {
  const cause = new Error("outer", { cause: new Error("inner", { cause: failed("SELF_SIGNED_CERT_IN_CHAIN") }) });
  expect(tlsFailureText(cause, undefined)).toBe("its certificate is not signed by a CA that is trusted here: words");
  expect(tlsFailureText(failed("ERR_SSL_TLSV1_ALERT_UNKNOWN_CA"), undefined)).toBe(
    "the server rejects our certificate: words",
  );
});

test.each([failed("ECONNRESET"), new Error("x"), "CERT_HAS_EXPIRED", undefined])("%o is not a TLS error", (thrown) => {
  expect(tlsFailureText(thrown, SECRET)).toBeUndefined();
  expect(isTlsFailure(thrown)).toBe(false);
});
