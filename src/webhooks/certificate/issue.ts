import { randomBytes, type webcrypto } from "node:crypto";
import { OPERATOR } from "#api/names.ts";
import type { KeyPair } from "#webhooks/certificate/material.ts";
import { AUTHORITY_VALID_MS, BACKDATED_MS, SERVING_VALID_MS } from "#webhooks/certificate/renewal.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** The library is read when a certificate is made, which is a few times a year: it takes megabytes. */
async function library() {
  await import("reflect-metadata"); // x509 needs it loaded first
  return await import("@peculiar/x509");
}

/** A new authority. Its name is its own, so that two of them are never taken for each other. */
export async function newAuthority(nowMs: number): Promise<KeyPair> {
  const x509 = await library();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [`${OPERATOR} webhooks ${randomBytes(6).toString("hex")}`] }],
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(nowMs + AUTHORITY_VALID_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: inPem(certificate.toString("pem")), key: await keyInPem(keys.privateKey) };
}

/** A certificate for a server of this DNS name. It ends before its authority does. */
export async function newServing(authority: KeyPair, host: string, nowMs: number): Promise<KeyPair> {
  const x509 = await library();
  const issuer = new x509.X509Certificate(authority.certificate);
  const der = x509.PemConverter.decodeFirst(authority.key);
  const signingKey = await crypto.subtle.importKey("pkcs8", der, ALGORITHM, false, ["sign"]);
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [`${OPERATOR} webhooks`] }], // a host may be longer than a common name
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(Math.min(nowMs + SERVING_VALID_MS, issuer.notAfter.getTime())),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([{ type: "dns", value: host }]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { certificate: inPem(certificate.toString("pem")), key: await keyInPem(keys.privateKey) };
}

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
