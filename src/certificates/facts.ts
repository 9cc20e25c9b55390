import type { X509Certificate } from "node:crypto";
import {
  APPLIED_HASH_ANNOTATION,
  CERTIFICATE_FILE,
  isAuthorityName,
  KEY_FILE,
  ROTATED_FOR_ANNOTATION,
  TLS_LABEL,
  TRUST_FILE,
} from "#api/names.ts";
import { commonNameIn } from "#certificates/common-name.ts";
import { idOf, isPair, parsedIn } from "#certificates/pem.ts";
import { whyNoSigner } from "#certificates/signing-key.ts";
import { isSignedBy, signersOf } from "#certificates/trust.ts";
import { controllerOf, type Secret } from "#kube/kinds.ts";

// What may be known of a Secret without knowing its key?
//   All that anybody who connects may see anyway: certificates. Whether the key is the right one is judged here, and the key is left behind.

/** Of an authority that is about to be followed by another one: that one. */
export const NEXT_CERTIFICATE = "next.crt";
export const NEXT_KEY = "next.key";
/** With it cert-manager marks each Secret that it fills: https://cert-manager.io/docs/reference/annotations/ */
export const CERTIFICATE_NAME_ANNOTATION = "cert-manager.io/certificate-name";

/** What a Secret with a certificate says of itself. Of what cannot be read, times are 0 and texts empty. */
export interface CertificateFacts {
  readonly secretName: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Uid of who manages the Secret; undefined when nobody does. */
  readonly ownerUid: string | undefined;
  /** Milliseconds since 1970; from when to when it is worth something: it, all that are shown with it, and one of the authorities that vouch for it are valid. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** For how long what lives shortest of these was made, in milliseconds. */
  readonly lifeMs: number;
  /** Of the certificate that is shown: SHA-256 of its DER, in hexadecimal. */
  readonly fingerprint: string;
  /** As `CN=…`, one line. */
  readonly issuerName: string;
  /** By whom etcd takes whoever shows it: as in common-name.ts. */
  readonly commonName: string | undefined;
  /** DNS names and IP addresses; IPv6 as RFC 5952 writes it. */
  readonly names: readonly string[];
  /** What it may be used for, as OIDs; empty when it does not say. */
  readonly usages: readonly string[];
  /** The authorities that it says to trust, in PEM. */
  readonly trust: string;
  /** SHA-256 of each of them. */
  readonly trustIds: readonly string[];
  /** Which of them vouches for the certificate. */
  readonly signerId: string | undefined;
  /** SHA-256 of the authority that is to follow; on the Secret of an authority only. */
  readonly nextId: string | undefined;
  readonly rotatedFor: string | undefined;
  /** Of which Certificate of cert-manager it is; undefined when cert-manager has not filled it. */
  readonly certificateName: string | undefined;
  /** Fingerprint of what it was made for; undefined when the operator did not make it. */
  readonly madeFor: string | undefined;
  /** Whether its label says that EtcdClusters may have it, and its name is no authority's. */
  readonly mayBeShown: boolean;
  /** What is wrong with it, as a clause that names the key and quotes nothing of it. Whether its time is over is asked of the clock. */
  readonly trouble: string | undefined;
}

/** What of an object is looked at as a certificate. */
export type Kind = "authority" | "leaf";

/** All that a Secret says of its certificate, and nothing of its key. Never throws. */
export function factsOf(secret: Secret, kind: Kind): CertificateFacts {
  const { name, uid, resourceVersion, annotations } = secret.metadata;
  const chain = parsedIn(textIn(secret, CERTIFICATE_FILE));
  const trusted = parsedIn(textIn(secret, TRUST_FILE));
  const [next] = parsedIn(textIn(secret, NEXT_CERTIFICATE));
  const [shown] = chain;
  const signers = signersOf(chain, trusted);
  return {
    secretName: name,
    uid,
    resourceVersion,
    ownerUid: controllerOf(secret)?.uid,
    ...spanOf(chain, signers),
    fingerprint: shown === undefined ? "" : idOf(shown),
    issuerName: shown?.issuer?.split("\n").join(", ") ?? "",
    commonName: commonNameIn(textIn(secret, CERTIFICATE_FILE)),
    names: shown === undefined ? [] : namesOf(shown),
    usages: shown?.keyUsage ?? [],
    trust: [...new Map(trusted.map((each) => [idOf(each), each.toString()])).values()].join(""),
    trustIds: [...new Set(trusted.map(idOf))],
    signerId: signers.map(idOf).at(0),
    nextId: next === undefined ? undefined : idOf(next),
    rotatedFor: annotations?.[ROTATED_FOR_ANNOTATION],
    certificateName: annotations?.[CERTIFICATE_NAME_ANNOTATION],
    madeFor: annotations?.[APPLIED_HASH_ANNOTATION],
    mayBeShown: mayBeShown(secret),
    trouble: troubleOf(secret, kind, { chain, trusted, signers, next }),
  };
}

/** Whether EtcdClusters may have what somebody else fills: its label says so, and its name is no authority's. */
export function mayBeShown({ metadata }: Secret): boolean {
  return metadata.labels?.[TLS_LABEL] === "true" && !isAuthorityName(metadata.name);
}

/** @returns its text; empty when it is not there */
export function textIn({ data }: Pick<Secret, "data">, key: string): string {
  return Buffer.from(data?.[key] ?? "", "base64").toString("utf8");
}

/** Who signs may have ended before what it has signed does: then nobody believes that any more. */
function spanOf(
  chain: readonly X509Certificate[],
  signers: readonly X509Certificate[],
): Pick<CertificateFacts, "notBeforeMs" | "notAfterMs" | "lifeMs"> {
  const [shown] = chain;
  if (shown === undefined) return { notBeforeMs: 0, notAfterMs: 0, lifeMs: 0 };
  const begins = signers.map(beginOf);
  return {
    notBeforeMs: Math.max(beginOf(shown), ...(begins.length === 0 ? [] : [Math.min(...begins)])),
    notAfterMs: leastOf(chain, signers, endOf),
    lifeMs: leastOf(chain, signers, (each) => endOf(each) - beginOf(each)),
  };
}

/** The least of all that are shown, and of the best one that vouches for them. */
function leastOf(
  chain: readonly X509Certificate[],
  signers: readonly X509Certificate[],
  measure: (certificate: X509Certificate) => number,
): number {
  const best = signers.length === 0 ? [] : [Math.max(...signers.map(measure))];
  return Math.min(...chain.map(measure), ...best);
}

function beginOf({ validFromDate }: X509Certificate): number {
  return validFromDate.getTime();
}

function endOf({ validToDate }: X509Certificate): number {
  return validToDate.getTime();
}

interface Parts {
  readonly chain: readonly X509Certificate[];
  readonly trusted: readonly X509Certificate[];
  readonly signers: readonly X509Certificate[];
  readonly next: X509Certificate | undefined;
}

function troubleOf(secret: Secret, kind: Kind, { chain, trusted, signers, next }: Parts): string | undefined {
  const missing = [CERTIFICATE_FILE, KEY_FILE, TRUST_FILE].find((key) => textIn(secret, key).trim() === "");
  if (missing !== undefined) return `it has no ${missing}`;
  const [shown] = chain;
  if (shown === undefined) return `its ${CERTIFICATE_FILE} is no certificate in PEM`;
  if (trusted.length === 0) return `its ${TRUST_FILE} is no certificate in PEM`;
  if (!isPair(shown, textIn(secret, KEY_FILE))) return `its ${KEY_FILE} is not the key of its ${CERTIFICATE_FILE}`;
  if (kind === "leaf")
    return signers.length === 0 ? `its ${CERTIFICATE_FILE} is signed by none of its ${TRUST_FILE}` : undefined;
  if (!shown.ca || !isSignedBy(shown, shown)) return `its ${CERTIFICATE_FILE} is no authority that signs itself`;
  if (!trusted.some((each) => idOf(each) === idOf(shown)))
    return `its ${CERTIFICATE_FILE} is not among its ${TRUST_FILE}`;
  const fields = { certificate: CERTIFICATE_FILE, key: KEY_FILE };
  const unfit = whyNoSigner(shown, textIn(secret, KEY_FILE), fields);
  if (unfit !== undefined) return unfit;
  const hasNextKey = textIn(secret, NEXT_KEY).trim() !== "";
  if (next === undefined) return hasNextKey ? `it has ${NEXT_KEY} without ${NEXT_CERTIFICATE}` : undefined;
  if (!isPair(next, textIn(secret, NEXT_KEY))) return `its ${NEXT_KEY} is not the key of its ${NEXT_CERTIFICATE}`;
  return whyNoSigner(next, textIn(secret, NEXT_KEY), { certificate: NEXT_CERTIFICATE, key: NEXT_KEY });
}

/** The subject's other names, as Node lists them: `DNS:a, IP Address:127.0.0.1`. */
function namesOf({ subjectAltName = "" }: X509Certificate): readonly string[] {
  return subjectAltName.split(", ").flatMap((entry) => {
    const [, type, value = ""] = /^(DNS|IP Address):(.*)$/.exec(entry) ?? [];
    if (type === undefined) return [];
    return type === "DNS" ? value.toLowerCase() : addressText(value);
  });
}

/** An address as it is always written. */
export function addressText(address: string): string {
  if (!address.includes(":")) return address;
  try {
    return new URL(`http://[${address}]`).hostname.slice(1, -1);
  } catch {
    return address;
  }
}
