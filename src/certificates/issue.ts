import { randomBytes, type webcrypto, X509Certificate } from "node:crypto";
import type { X509Certificate as PeculiarCertificate } from "@peculiar/x509";
import { invariant } from "#base/invariant.ts";
import { isAddress } from "#certificates/names.ts";
import { type KeyPair, keyIn, parsedIn } from "#certificates/pem.ts";
import { signingBy } from "#certificates/signing-key.ts";
import { isSignedBy } from "#certificates/trust.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Validity of a certificate, in milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Extended key usage, as in RFC 5280. */
export type Usage = "serverAuth" | "clientAuth";

export interface LeafWish extends Validity {
  /** Undefined: none, since etcd's gRPC gateway requires a server certificate without a common name. */
  readonly commonName?: string | undefined;
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
  readonly usages: readonly Usage[];
}

/** Issues certificates, each with a new key. */
export interface Issuer {
  /** A new self-signed CA, which cannot sign other CAs. A random suffix makes its name unique. */
  newAuthority(commonName: string, validity: Validity): Promise<KeyPair>;
  /** A certificate signed by the CA. It expires no later than the CA. */
  newLeaf(authority: KeyPair, wish: LeafWish): Promise<KeyPair>;
}

/** Loaded on demand, since it takes megabytes and certificates are rarely issued. */
async function library() {
  await import("reflect-metadata"); // x509 needs it loaded first
  return await import("@peculiar/x509");
}

export async function newAuthority(commonName: string, { fromMs, untilMs }: Validity): Promise<KeyPair> {
  const x509 = await library();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [`${commonName} ${randomBytes(6).toString("hex")}`] }],
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(fromMs),
    notAfter: new Date(untilMs),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: inPem(certificate.toString("pem")), key: await keyInPem(keys.privateKey) };
}

export async function newLeaf(authority: KeyPair, wish: LeafWish): Promise<KeyPair> {
  const x509 = await library();
  // Uses the certificate that was checked, even if the Secret holds further ones.
  const [own] = parsedIn(authority.certificate);
  invariant(own !== undefined, "a CA has a certificate");
  const issuer = new x509.X509Certificate(own.toString());
  const authorityKey = keyIn(authority.key);
  const signingAlgorithm = signingBy(authorityKey);
  invariant(authorityKey !== undefined && signingAlgorithm !== undefined, "a CA has a key to sign by");
  const der = authorityKey.export({ type: "pkcs8", format: "der" });
  const signingKey = await crypto.subtle.importKey("pkcs8", der, signingAlgorithm, false, ["sign"]);
  const keys = await newKeys();
  const { commonName, names, usages, fromMs, untilMs } = wish;
  const alternatives = names.map((value) => ({ type: isAddress(value) ? ("ip" as const) : ("dns" as const), value }));
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    ...(commonName === undefined ? {} : { subject: [{ CN: [commonName] }] }),
    // Copied from the CA's certificate: etcd compares names byte by byte.
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm,
    notBefore: new Date(fromMs),
    notAfter: new Date(Math.min(untilMs, issuer.notAfter.getTime())),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(usages.map((usage) => x509.ExtendedKeyUsage[usage])),
      // A certificate without a subject is identified by these alone, so they are critical (RFC 5280, 4.2.1.6).
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(alternatives, commonName === undefined)]),
      await keyIdentifierOf(issuer),
    ],
  });
  const isVerified = isSignedBy(new X509Certificate(certificate.toString("pem")), own);
  invariant(isVerified, "a certificate is verified by the CA that signed it");
  return { certificate: inPem(certificate.toString("pem")), key: await keyInPem(keys.privateKey) };
}

/** Authority key identifier: a copy of the CA's own subject key identifier, however it was computed. */
async function keyIdentifierOf(authority: PeculiarCertificate) {
  const x509 = await library();
  const own = authority.getExtension(x509.SubjectKeyIdentifierExtension);
  return own === null
    ? await x509.AuthorityKeyIdentifierExtension.create(authority)
    : new x509.AuthorityKeyIdentifierExtension(own.keyId);
}

export const issuer: Issuer = { newAuthority, newLeaf };

/** Positive, as RFC 5280 requires: the first bit is not set. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
}

async function keyInPem(key: webcrypto.CryptoKey): Promise<string> {
  const { PemConverter } = await library();
  return inPem(PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY"));
}

/** Ends with a newline, so that certificates can be concatenated to a bundle. */
function inPem(text: string): string {
  return `${text.trimEnd()}\n`;
}
