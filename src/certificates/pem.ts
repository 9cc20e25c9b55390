import { createPrivateKey, hash, type KeyObject, X509Certificate } from "node:crypto";
import { LRUCache } from "lru-cache";
import { extensionsOf, privateKeyKind, writtenNames } from "#certificates/der.ts";
import { isKnownKind } from "#certificates/key-kinds.ts";

// Why not PemConverter of @peculiar/x509?
//   That library is loaded only to issue certificates. Node reads PEM, so that only the blocks must be found here.

/** A certificate and its key, both in PEM. Keys are written to Secrets and used for TLS, and nothing else. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** The certificates of a PEM text, one by one and in a uniform encoding; other blocks are left out. */
export function certificatesIn(pem: string): readonly string[] {
  return parsedIn(pem).map((each) => each.toString());
}

/** The parsed certificates of a PEM text. Recently parsed ones come from a cache. */
export function parsedIn(pem: string): readonly X509Certificate[] {
  const blocks = blocksIn(pem);
  const read = blocks.length > MOST_KEPT_OF_ONE ? parsed : remembered;
  return blocks.flatMap((block) => read(block) ?? []);
}

const [BEGIN, END] = ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"];

/**
 * The certificates of a PEM text, unparsed. One pass over the text, even if many blocks never end: a Secret may hold a
 * MiB of such text.
 */
export function blocksIn(pem: string): readonly string[] {
  const blocks: string[] = [];
  for (let at = pem.indexOf(BEGIN); at >= 0; at = pem.indexOf(BEGIN, at)) {
    const end = pem.indexOf(END, at);
    if (end < 0) break;
    blocks.push(pem.slice(at, end + END.length));
    at = end + END.length;
  }
  return blocks;
}

/** @returns undefined when it is no certificate: a Secret may contain anything */
function parsed(block: string): X509Certificate | undefined {
  try {
    return new X509Certificate(block);
  } catch {
    return undefined;
  }
}

/**
 * Number of parsed certificates in the cache, the most recently used ones: each rule reads the few of its cluster, in
 * each pass. The cache key is the SHA-256 of the text; the text itself, and keys beside it, are not stored.
 */
const KEPT = 256;
/**
 * Limits on what enters the cache: characters of a certificate, and certificates of one text. So one tenant's Secret
 * evicts few certificates of others.
 */
const LONGEST_KEPT = 8_192;
const MOST_KEPT_OF_ONE = 32;
const kept = new LRUCache<string, X509Certificate>({ max: KEPT });

function remembered(block: string): X509Certificate | undefined {
  if (block.length > LONGEST_KEPT) return parsed(block);
  const name = hash("sha256", block, "hex");
  const certificate = kept.get(name) ?? parsed(block);
  if (certificate !== undefined) kept.set(name, certificate);
  return certificate;
}

/** Whether the key belongs to the certificate. @param key in PEM; any other text belongs to none */
export function isPair(certificate: string | X509Certificate, key: string): boolean {
  const privateKey = keyIn(key);
  const parsed = typeof certificate === "string" ? new X509Certificate(certificate) : certificate;
  return privateKey !== undefined && parsed.checkPrivateKey(privateKey);
}

/** Longest text with a key, in bytes. An RSA key of 8192 bits has 6.4 kB; a longer text is no key. */
export const MAX_KEY_BYTES = 16_384;

/** Forms of a private key by their PEM labels: those that Go's crypto/tls, and with it etcd, reads. */
const KEY_FORMS: Readonly<Record<string, "pkcs8" | "pkcs1" | "sec1">> = {
  "PRIVATE KEY": "pkcs8",
  "RSA PRIVATE KEY": "pkcs1",
  "EC PRIVATE KEY": "sec1",
};

/**
 * The key of a PEM text; `undefined` when it holds none, or one of an algorithm that etcd does not read. The algorithm
 * is checked before OpenSSL reads the key: OpenSSL computes the public half of a DSA or DH key, which can take minutes.
 */
export function keyIn(pem: string): KeyObject | undefined {
  const block = pem.length > MAX_KEY_BYTES ? undefined : keyBlockIn(pem);
  if (block === undefined) return undefined;
  const { key, type } = block;
  if (type === "pkcs8" && !isKnownKind(privateKeyKind(key))) return undefined;
  try {
    return createPrivateKey({ key, format: "der", type });
  } catch {
    return undefined; // OpenSSL's error would only repeat that it is no key.
  }
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The first private key of a text, as DER. */
function keyBlockIn(pem: string): { readonly key: Buffer; readonly type: "pkcs8" | "pkcs1" | "sec1" } | undefined {
  for (const begin of pem.split("-----BEGIN ").slice(1)) {
    const [label = "", body = "", end] = begin.split("-----", 3);
    const type = Object.hasOwn(KEY_FORMS, label) ? KEY_FORMS[label] : undefined;
    if (type === undefined) continue;
    const base64 = body.replaceAll(/\s/g, "");
    return end === `END ${label}` && BASE64.test(base64) ? { key: Buffer.from(base64, "base64"), type } : undefined;
  }
  return undefined;
}

/** Id of a certificate: SHA-256 of its DER, in lower-case hexadecimal digits. */
export function idOf(certificate: X509Certificate): string {
  return hash("sha256", certificate.raw, "hex");
}

/** OID 2.5.29.14, subject key identifier, in DER. */
const KEY_IDENTIFIER = "551d0e";

/**
 * Id of a CA, equal for all certificates that verify the same signatures. It is the SHA-256 of its encoded name, its
 * key and its subject key identifier, in hexadecimal; of the certificate when the key is unreadable. A certificate with
 * another key identifier has another id, since OpenSSL, and with it Node, does not verify earlier signatures with it.
 */
export function authorityKeyOf(authority: X509Certificate): string {
  const known = authorityKeys.get(authority) ?? digestOf(authority);
  authorityKeys.set(authority, known);
  return known;
}

/** Cached as long as the certificate is in use: extracting its key costs more than parsing it. */
const authorityKeys = new WeakMap<X509Certificate, string>();

function digestOf(authority: X509Certificate): string {
  const key = publicKeyOf(authority);
  return key === undefined
    ? idOf(authority)
    : hash("sha256", Buffer.concat([writtenNames(authority).subject, key, identifierOf(authority)]), "hex");
}

function identifierOf(authority: X509Certificate): Buffer {
  return extensionsOf(authority).get(KEY_IDENTIFIER) ?? Buffer.alloc(0);
}

function publicKeyOf(certificate: X509Certificate): Buffer | undefined {
  try {
    return certificate.publicKey.export({ type: "spki", format: "der" });
  } catch {
    return undefined; // etcd ignores a CA with an unknown kind of key, too.
  }
}

/** Concatenates certificates to one text, each of them once. */
export function bundleOf(certificates: readonly string[]): string {
  return [...new Set(certificates)].join("");
}
