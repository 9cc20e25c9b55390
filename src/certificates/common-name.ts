import type { X509Certificate } from "node:crypto";
import { parsedIn } from "#certificates/pem.ts";

/** Names that OpenSSL prints unchanged. */
const PLAIN = /^[A-Za-z0-9._:@/ -]+$/;

/**
 * The user name that etcd takes from the first of these certificates: its common name.
 * @returns "" when it has none; undefined when the text is no certificate, or the name has characters that OpenSSL
 * prints ambiguously
 */
export function commonNameIn(pem: string): string | undefined {
  const [shown] = parsedIn(pem);
  return shown && commonNameOf(shown);
}

/**
 * The common name of a certificate: "" when it has none; undefined when it has characters that OpenSSL prints
 * ambiguously.
 */
export function commonNameOf(certificate: X509Certificate): string | undefined {
  // Node's subject is undefined when it is empty. Of several common names etcd takes the last one.
  const lines = ((certificate.subject as string | undefined) ?? "")
    .split("\n")
    .filter((line) => line.startsWith("CN="));
  const name = lines.at(-1)?.slice("CN=".length) ?? "";
  return name === "" || PLAIN.test(name) ? name : undefined;
}
