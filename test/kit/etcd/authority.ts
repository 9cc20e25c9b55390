import "reflect-metadata"; // x509 needs it loaded first
import type { webcrypto } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

/** PEM texts. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A CA for tests of TLS. */
export interface Authority {
  readonly pem: string;
  /**
   * Issues a certificate for servers and clients with this DNS name.
   * @param given.untilMs since 1970; default: a year from now
   */
  issue(name: string, given?: { readonly untilMs: number }): Promise<KeyPair>;
  /** An intermediate CA that this CA has signed. */
  intermediate(): Promise<Authority>;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const SIGNING = ["sign", "verify"] as const;

export async function newAuthority(): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, SIGNING);
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=test authority",
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return issuingAs(authority, keys);
}

function issuingAs(authority: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): Authority {
  return {
    pem: `${authority.toString("pem")}\n`,
    async intermediate() {
      const own = await crypto.subtle.generateKey(ALGORITHM, true, SIGNING);
      const certificate = await x509.X509CertificateGenerator.create({
        subject: "CN=test intermediate",
        issuer: authority.subject,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        extensions: [
          new x509.BasicConstraintsExtension(true, undefined, true),
          await x509.SubjectKeyIdentifierExtension.create(own.publicKey),
          await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      return issuingAs(certificate, own);
    },
    async issue(name, given) {
      const own = await crypto.subtle.generateKey(ALGORITHM, true, SIGNING);
      const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
      const certificate = await x509.X509CertificateGenerator.create({
        subject: `CN=${name}`,
        issuer: authority.subject,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        ...(given === undefined
          ? {}
          : { notBefore: new Date(given.untilMs - 60_000), notAfter: new Date(given.untilMs) }),
        extensions: [
          new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }]),
          new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
          // Without it OpenSSL, and so Node, tries only the first of several CAs with the issuer's name.
          await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      const key = await crypto.subtle.exportKey("pkcs8", own.privateKey);
      return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
    },
  };
}

/** Writes one file for each flag, and returns the flags. */
export function flagFiles(dir: string, files: Record<string, string>): string[] {
  mkdirSync(dir, { recursive: true });
  return Object.entries(files).map(([flag, content]) => {
    const file = join(dir, flag);
    writeFileSync(file, content);
    return `--${flag}=${file}`;
  });
}
