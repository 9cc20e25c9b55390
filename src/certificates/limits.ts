import type { X509Certificate } from "node:crypto";
import { CERTIFICATE_FILE, KEY_FILE, TRUST_FILE } from "#api/names.ts";
import { writtenNames } from "#certificates/der.ts";
import { costlyKeyText } from "#certificates/key-kinds.ts";
import { blocksIn, MAX_KEY_BYTES } from "#certificates/pem.ts";
import type { Secret } from "#kube/kinds.ts";

// How much of a Secret is read?
//   The API server accepts Secrets of 1 MiB from anyone with the right to write them. Certificates are parsed and
//   verified on the thread of the event loop, so length and number are checked first. A Secret beyond a bound is
//   refused with a message, and nothing of it is parsed.

/**
 * Longest text with certificates, in bytes. If smaller, bundles of a company (200 kB) or a public trust store (150
 * certificates in 220 kB) would be refused. If larger, each cluster that names the Secret takes more memory.
 */
const MAX_TEXT_BYTES = 262_144;
/** Most certificates in one text, for the same reason: parsing so many takes about 10 ms. */
const MAX_CERTIFICATES = 256;
/** Most certificates in tls.crt: the leaf and its intermediates. A chain usually has two or three. */
const MAX_SHOWN = 16;
/** Longest certificate, in bytes of DER. One with 300 names has about 8 KB. */
const MAX_CERTIFICATE_BYTES = 16_384;
/**
 * Most signatures that are checked for one Secret. A CA and its successors have the same name, which makes two or three
 * checks. Each takes 0.05 ms to 2.7 ms, so all of them stay below 200 ms.
 */
const MAX_CHECKS = 64;

interface Bound {
  readonly key: string;
  readonly maxBytes: number;
  readonly maxCertificates: number;
}

const BOUNDS: readonly Bound[] = [
  { key: CERTIFICATE_FILE, maxBytes: MAX_TEXT_BYTES, maxCertificates: MAX_SHOWN },
  { key: TRUST_FILE, maxBytes: MAX_TEXT_BYTES, maxCertificates: MAX_CERTIFICATES },
  { key: "next.crt", maxBytes: MAX_TEXT_BYTES, maxCertificates: MAX_SHOWN },
  { key: KEY_FILE, maxBytes: MAX_KEY_BYTES, maxCertificates: MAX_CERTIFICATES },
  { key: "next.key", maxBytes: MAX_KEY_BYTES, maxCertificates: MAX_CERTIFICATES },
];

/** Why the texts of a Secret are too large to parse, as a clause that names the key; undefined when they are not. */
export function whyTooMuch({ data = {} }: Pick<Secret, "data">): string | undefined {
  return BOUNDS.map((bound) => beyond(bound, data[bound.key] ?? "")).find((why) => why !== undefined);
}

function beyond({ key, maxBytes, maxCertificates }: Bound, base64: string): string | undefined {
  const bytes = Buffer.byteLength(base64, "base64");
  if (bytes > maxBytes) return `its ${key} is ${bytes} bytes long; it may have at most ${maxBytes}`;
  const blocks = blocksIn(Buffer.from(base64, "base64").toString("latin1"));
  if (blocks.length > maxCertificates)
    return `its ${key} has ${blocks.length} certificates; it may have at most ${maxCertificates}`;
  const longest = Math.max(0, ...blocks.map(({ length }) => Math.floor((length * 3) / 4)));
  if (longest <= MAX_CERTIFICATE_BYTES) return undefined;
  return `its ${key} has a certificate of about ${longest} bytes; a certificate may have at most ${MAX_CERTIFICATE_BYTES}`;
}

/** Why verifying the chain would take too long, as a clause that names the key; undefined when it would not. */
export function whyTooCostly(
  chain: readonly X509Certificate[],
  trusted: readonly X509Certificate[],
): string | undefined {
  // CAs in ca.crt need no check: `isSignedBy` skips one with such a key, and a bundle may contain CAs that signed
  // nothing here.
  const why = chain.map(costlyKeyText).find((text) => text !== undefined);
  if (why !== undefined) return `its ${CERTIFICATE_FILE} has a certificate with ${why}`;
  const subjects = new Map<string, number>();
  for (const each of [...chain, ...trusted]) {
    const { subject } = textsOf(each);
    subjects.set(subject, (subjects.get(subject) ?? 0) + 1);
  }
  const checks = chain.reduce((sum, each) => sum + (subjects.get(textsOf(each).issuer) ?? 0), 0);
  if (checks <= MAX_CHECKS) return undefined;
  return `its ${TRUST_FILE} and ${CERTIFICATE_FILE} have too many certificates of one name: ${checks} signatures would have to be checked; the limit is ${MAX_CHECKS}`;
}

function textsOf(certificate: X509Certificate): { readonly issuer: string; readonly subject: string } {
  const { issuer, subject } = writtenNames(certificate);
  return { issuer: issuer.toString("latin1"), subject: subject.toString("latin1") };
}
