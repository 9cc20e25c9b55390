import { randomBytes, type webcrypto, X509Certificate } from "node:crypto";
import type { X509Certificate as PeculiarCertificate } from "@peculiar/x509";
import { invariant } from "#base/invariant.ts";
import { isAddress } from "#certificates/names.ts";
import { type KeyPair, keyIn, parsedIn } from "#certificates/pem.ts";
import { signingBy } from "#certificates/signing-key.ts";
import { isSignedBy } from "#certificates/trust.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** From when to when a certificate is valid, in milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** What a certificate is for, by the words of RFC 5280. */
export type Usage = "serverAuth" | "clientAuth";

export interface LeafWish extends Validity {
  /** Undefined: none, which is what etcd's gateway asks of its server's certificate. */
  readonly commonName?: string | undefined;
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
  readonly usages: readonly Usage[];
}

/** Who makes certificates: each with a key of its own. */
export interface Issuer {
  /** A new authority, which signs no other one. Its name is its own, so that two of them are never taken for each other. */
  newAuthority(commonName: string, validity: Validity): Promise<KeyPair>;
  /** A certificate that the authority signs. It ends before the authority does. */
  newLeaf(authority: KeyPair, wish: LeafWish): Promise<KeyPair>;
}

/** The library is read when a certificate is made, which is rare: it takes megabytes. */
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
  // Whatever else stands in the Secret, this is what it was judged by.
  const [own] = parsedIn(authority.certificate);
  invariant(own !== undefined, "an authority has a certificate");
  const issuer = new x509.X509Certificate(own.toString());
  const authorityKey = keyIn(authority.key);
  const signingAlgorithm = signingBy(authorityKey);
  invariant(authorityKey !== undefined && signingAlgorithm !== undefined, "an authority has a key to sign by");
  const der = authorityKey.export({ type: "pkcs8", format: "der" });
  const signingKey = await crypto.subtle.importKey("pkcs8", der, signingAlgorithm, false, ["sign"]);
  const keys = await newKeys();
  const { commonName, names, usages, fromMs, untilMs } = wish;
  const alternatives = names.map((value) => ({ type: isAddress(value) ? ("ip" as const) : ("dns" as const), value }));
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    ...(commonName === undefined ? {} : { subject: [{ CN: [commonName] }] }),
    // As the authority has written it: etcd compares names byte by byte.
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
      // Who has no name of its own is known by these alone: then they are critical (RFC 5280, 4.2.1.6).
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(alternatives, commonName === undefined)]),
      await keyIdentifierOf(issuer),
    ],
  });
  const isBelieved = isSignedBy(new X509Certificate(certificate.toString("pem")), own);
  invariant(isBelieved, "what an authority has signed is believed by who trusts it");
  return { certificate: inPem(certificate.toString("pem")), key: await keyInPem(keys.privateKey) };
}

/** By which of its keys the authority has signed: as it calls it itself, however it has come to that. */
async function keyIdentifierOf(authority: PeculiarCertificate) {
  const x509 = await library();
  const own = authority.getExtension(x509.SubjectKeyIdentifierExtension);
  return own === null
    ? await x509.AuthorityKeyIdentifierExtension.create(authority)
    : new x509.AuthorityKeyIdentifierExtension(own.keyId);
}

export const issuer: Issuer = { newAuthority, newLeaf };

/** Positive, as RFC 5280 asks for: the first bit is not set. */
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

/** Ends with a line's end, so that one may follow the other in a bundle. */
function inPem(text: string): string {
  return `${text.trimEnd()}\n`;
}
