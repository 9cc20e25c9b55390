import "reflect-metadata"; // x509 needs it loaded first
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import * as x509 from "@peculiar/x509";
import type { Validity } from "#certificates/issue.ts";
import type { KeyPair } from "#certificates/pem.ts";

// CAs as people and cert-manager make them, and the operator does not.

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** The CA with its name and key, and a certificate with another validity. */
export async function renewed(authority: KeyPair, validity: Validity): Promise<KeyPair> {
  const { subject } = new x509.X509Certificate(authority.certificate);
  return await certified(subject, authority.key, authority, validity);
}

/** A second CA with the same name and its own key. */
export async function namesake({ certificate }: KeyPair, validity: Validity): Promise<KeyPair> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return await certified(new x509.X509Certificate(certificate).subject, key, { certificate, key }, validity);
}

/** An intermediate CA that the signer has signed. */
export async function intermediate(signer: KeyPair, validity: Validity): Promise<KeyPair> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return await certified("CN=between", key, signer, validity);
}

async function certified(
  subject: string,
  key: string,
  signer: KeyPair,
  { fromMs, untilMs }: Validity,
): Promise<KeyPair> {
  const issuer = new x509.X509Certificate(signer.certificate);
  const signing = createPrivateKey(signer.key).export({ type: "pkcs8", format: "der" });
  const own = createPublicKey(key).export({ type: "spki", format: "der" });
  const publicKey = await crypto.subtle.importKey("spki", own, ALGORITHM, true, ["verify"]);
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer.subject,
    signingKey: await crypto.subtle.importKey("pkcs8", signing, ALGORITHM, false, ["sign"]),
    signingAlgorithm: ALGORITHM,
    publicKey,
    notBefore: new Date(fromMs),
    notAfter: new Date(untilMs),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { certificate: `${certificate.toString("pem")}\n`, key };
}
