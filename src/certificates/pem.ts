import { createPrivateKey, hash, type KeyObject, X509Certificate } from "node:crypto";
import { extensionsOf, writtenNames } from "#certificates/der.ts";

/** A certificate and its key, both in PEM. Keys go to Secrets and to TLS, and nowhere else. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** Each certificate of a PEM text by itself, in one and the same form; what is none is left out. */
export function certificatesIn(pem: string): readonly string[] {
  return parsedIn(pem).map((each) => each.toString());
}

/** The same, as they are asked for what they say. One that was asked for a while ago is mostly the same object. */
export function parsedIn(pem: string): readonly X509Certificate[] {
  const blocks = blocksIn(pem);
  const read = blocks.length > MOST_KEPT_OF_ONE ? parsed : remembered;
  return blocks.flatMap((block) => read(block) ?? []);
}

const [BEGIN, END] = ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"];

/** In one walk, however often something begins that never ends: anybody may write a MiB into a Secret. */
function blocksIn(pem: string): readonly string[] {
  const blocks: string[] = [];
  for (let at = pem.indexOf(BEGIN); at >= 0; at = pem.indexOf(BEGIN, at)) {
    const end = pem.indexOf(END, at);
    if (end < 0) break;
    blocks.push(pem.slice(at, end + END.length));
    at = end + END.length;
  }
  return blocks;
}

/** @returns undefined when it is none: people may write anything into a Secret */
function parsed(block: string): X509Certificate | undefined {
  try {
    return new X509Certificate(block);
  } catch {
    return undefined;
  }
}

/**
 * So many certificates are kept as they were read, those that were asked for last: each rule asks for the few of its cluster, at each look. They are known by the
 * SHA-256 of their text, of which nothing is kept, nor of what stands beside it, such as a key.
 */
const KEPT = 256;
/** None is kept whose text is longer, in characters, nor one of a text of more than so many: what tenants write pushes out little of what others need. */
const LONGEST_KEPT = 8_192;
const MOST_KEPT_OF_ONE = 32;
const kept = new Map<string, X509Certificate>();

function remembered(block: string): X509Certificate | undefined {
  if (block.length > LONGEST_KEPT) return parsed(block);
  const name = hash("sha256", block, "hex");
  const certificate = kept.get(name) ?? parsed(block);
  if (certificate === undefined) return undefined;
  kept.delete(name);
  kept.set(name, certificate);
  const [oldest] = kept.keys();
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
  return certificate;
}

/** Whether the key belongs to the certificate. @param key in PEM; what is none belongs to nothing */
export function isPair(certificate: string | X509Certificate, key: string): boolean {
  const privateKey = keyIn(key);
  const parsed = typeof certificate === "string" ? new X509Certificate(certificate) : certificate;
  return privateKey !== undefined && parsed.checkPrivateKey(privateKey);
}

/** The key of a PEM text; `undefined` when it holds none. */
export function keyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined; // the error would only say in OpenSSL's words that it is no key
  }
}

/** What a certificate is known by: SHA-256 of its DER, in lower-case hexadecimal digits. */
export function idOf(certificate: X509Certificate): string {
  return hash("sha256", certificate.raw, "hex");
}

/** OID 2.5.29.14, subject key identifier, as DER has it. */
const KEY_IDENTIFIER = "551d0e";

/**
 * What an authority is known by to whoever verifies: its name, as it is written, its key, and what it calls that. A certificate that was made anew for the same key
 * vouches for the same; one that calls the key otherwise, as another tool does, vouches to OpenSSL, and with it to Node, for nothing that was signed before.
 * SHA-256, in hexadecimal. One whose key is of no kind that can be read vouches for nobody, and is known by itself alone.
 */
export function authorityKeyOf(authority: X509Certificate): string {
  const known = authorityKeys.get(authority) ?? digestOf(authority);
  authorityKeys.set(authority, known);
  return known;
}

/** For as long as somebody has the certificate: to take its key out of it costs more than to read it. */
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
    return undefined; // etcd, too, goes on without an authority whose key it does not know
  }
}

/** Several certificates as one text, each of them once. */
export function bundleOf(certificates: readonly string[]): string {
  return [...new Set(certificates)].join("");
}
