import type { X509Certificate } from "node:crypto";
import { givenText } from "#api/given-metadata.ts";
import {
  APPLIED_HASH_ANNOTATION,
  CERTIFICATE_FILE,
  isAuthorityName,
  KEY_FILE,
  ROTATED_FOR_ANNOTATION,
  TLS_LABEL,
  TRUST_FILE,
} from "#api/names.ts";
import { commonNameOf } from "#certificates/common-name.ts";
import { whyTooCostly, whyTooMuch } from "#certificates/limits.ts";
import { idOf, isPair, parsedIn } from "#certificates/pem.ts";
import { whyNoSigner } from "#certificates/signing-key.ts";
import { isSignedBy, signersOf } from "#certificates/trust.ts";
import { controllerOf, type Secret } from "#kube/kinds.ts";

// What is known of a Secret without its key?
//   Only what each TLS handshake shows anyway: certificates. The key is checked here against its certificate, and not
//   passed on.

/** Keys of a CA's Secret during a CA rotation: the CA that comes next. */
export const NEXT_CERTIFICATE = "next.crt";
export const NEXT_KEY = "next.key";
/**
 * Annotation by which cert-manager marks each Secret that it fills: https://cert-manager.io/docs/reference/annotations/
 */
export const CERTIFICATE_NAME_ANNOTATION = "cert-manager.io/certificate-name";

/** Facts about a Secret with a certificate. For an unreadable certificate, times are 0 and texts empty. */
export interface CertificateFacts {
  readonly secretName: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /**
   * Last write of the Secret, in milliseconds since 1970 by the API server's clock, to the second; undefined when
   * unknown.
   */
  readonly writtenAtMs: number | undefined;
  /** Uid of the controlling owner; undefined when there is none. */
  readonly ownerUid: string | undefined;
  /**
   * Milliseconds since 1970. In this span the certificate, its intermediates and one trusted CA that signed it are all
   * valid.
   */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Shortest lifetime among these certificates, in milliseconds. */
  readonly lifeMs: number;
  /** SHA-256 of the DER of the first certificate of tls.crt, in hexadecimal. */
  readonly fingerprint: string;
  /** Name as `CN=…`, one line; cut off after 256 characters. */
  readonly issuerName: string;
  /** The user name that etcd takes from it: see common-name.ts. */
  readonly commonName: string | undefined;
  /** DNS names and IP addresses; IPv6 as RFC 5952 writes it. */
  readonly names: readonly string[];
  /** Extended key usages, as OIDs; empty when there are none. */
  readonly usages: readonly string[];
  /** The CAs in ca.crt, in PEM. */
  readonly trust: string;
  /** SHA-256 of each of them. */
  readonly trustIds: readonly string[];
  /** SHA-256 of the one that signed the certificate. */
  readonly signerId: string | undefined;
  /** SHA-256 of the new CA that a rotation has prepared and that does not sign yet; only in the Secret of a CA. */
  readonly nextId: string | undefined;
  readonly rotatedFor: string | undefined;
  /** Name of its cert-manager Certificate; undefined when cert-manager has not filled the Secret. */
  readonly certificateName: string | undefined;
  /** Fingerprint of the request that it was issued for; undefined when the operator did not issue it. */
  readonly madeFor: string | undefined;
  /** Identifies the labels and annotations that a spec gave the Secret; undefined when it gave none. */
  readonly given: string | undefined;
  /** Whether the label permits its use by EtcdClusters, and its name is not that of a CA's Secret. */
  readonly mayBeShown: boolean;
  /** What is wrong with it, as a clause that names the key and quotes nothing of it. Expiry is not checked here. */
  readonly trouble: string | undefined;
}

/** Longest issuer name in a status, in characters: a CA may have a name of 16 kB. */
const LONGEST_ISSUER_NAME = 256;

/** How to read a Secret: as that of a CA, or of a leaf certificate. */
export type Kind = "authority" | "leaf";

/** Everything that is known of a Secret's certificate, and nothing of its key. Never throws. */
export function factsOf(secret: Secret, kind: Kind): CertificateFacts {
  const { name, uid, resourceVersion, annotations } = secret.metadata;
  const { chain, trusted, signers, next, excess } = partsOf(secret);
  const [shown] = chain;
  return {
    secretName: name,
    uid,
    resourceVersion,
    writtenAtMs: writtenAtMs(secret),
    ownerUid: controllerOf(secret)?.uid,
    ...spanOf(chain, signers),
    fingerprint: shown === undefined ? "" : idOf(shown),
    issuerName: shown?.issuer?.split("\n").join(", ").slice(0, LONGEST_ISSUER_NAME) ?? "",
    commonName: shown && commonNameOf(shown),
    names: shown === undefined ? [] : namesOf(shown),
    usages: shown?.keyUsage ?? [],
    trust: trusted.map((each) => each.toString()).join(""),
    trustIds: trusted.map(idOf),
    signerId: signers.map(idOf).at(0),
    nextId: next === undefined ? undefined : idOf(next),
    rotatedFor: annotations?.[ROTATED_FOR_ANNOTATION],
    certificateName: annotations?.[CERTIFICATE_NAME_ANNOTATION],
    madeFor: annotations?.[APPLIED_HASH_ANNOTATION],
    given: givenText(secret.metadata),
    mayBeShown: mayBeShown(secret),
    trouble: excess ?? troubleOf(secret, kind, { chain, trusted, signers, next }),
  };
}

const NOTHING = { chain: [], trusted: [], signers: [], next: undefined } as const;

/** The certificates of a Secret; none, with the reason, when they exceed the limits. */
function partsOf(secret: Secret): Parts & { readonly excess: string | undefined } {
  const tooMuch = whyTooMuch(secret);
  if (tooMuch !== undefined) return { ...NOTHING, excess: tooMuch };
  const chain = parsedIn(textIn(secret, CERTIFICATE_FILE));
  const trusted = [...new Map(parsedIn(textIn(secret, TRUST_FILE)).map((each) => [idOf(each), each])).values()];
  const [next] = parsedIn(textIn(secret, NEXT_CERTIFICATE));
  const tooCostly = whyTooCostly([...chain, ...(next === undefined ? [] : [next])], trusted);
  if (tooCostly !== undefined) return { ...NOTHING, excess: tooCostly };
  return { chain, trusted, signers: signersOf(chain, trusted), next, excess: undefined };
}

/** Read from `managedFields`, where each writer of the Secret has the time of its last write. */
function writtenAtMs({ metadata: { managedFields = [] } }: Secret): number | undefined {
  const times = managedFields.map(({ time }) => Date.parse(time ?? ""));
  return times.length === 0 || times.some(Number.isNaN) ? undefined : Math.max(...times);
}

/** Whether the label permits its use by EtcdClusters, and its name is not that of a CA's Secret. */
export function mayBeShown({ metadata }: Secret): boolean {
  return metadata.labels?.[TLS_LABEL] === "true" && !isAuthorityName(metadata.name);
}

/** @returns the decoded text; empty when the key is missing */
export function textIn({ data }: Pick<Secret, "data">, key: string): string {
  return Buffer.from(data?.[key] ?? "", "base64").toString("utf8");
}

/** The CA may expire before the certificates that it signed, which then become invalid. */
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

/** The least over the shown certificates and the best CA that signed them. */
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
  if (shown === undefined) return `its ${CERTIFICATE_FILE} is not a PEM certificate`;
  if (trusted.length === 0) return `its ${TRUST_FILE} is not a PEM certificate`;
  if (!isPair(shown, textIn(secret, KEY_FILE))) return `its ${KEY_FILE} is not the key of its ${CERTIFICATE_FILE}`;
  if (kind === "leaf")
    return signers.length === 0 ? `its ${CERTIFICATE_FILE} is not signed by any CA in its ${TRUST_FILE}` : undefined;
  if (!shown.ca || !isSignedBy(shown, shown))
    return `its ${CERTIFICATE_FILE} is not a self-signed CA; for an intermediate CA use the provider CertManager or Secret`;
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

/** Subject alternative names, as Node lists them: `DNS:a, IP Address:127.0.0.1`. */
function namesOf({ subjectAltName = "" }: X509Certificate): readonly string[] {
  return subjectAltName.split(", ").flatMap((entry) => {
    const [, type, value = ""] = /^(DNS|IP Address):(.*)$/.exec(entry) ?? [];
    if (type === undefined) return [];
    return type === "DNS" ? value.toLowerCase() : addressText(value);
  });
}

/** The canonical form of an address. */
export function addressText(address: string): string {
  if (!address.includes(":")) return address;
  try {
    return new URL(`http://[${address}]`).hostname.slice(1, -1);
  } catch {
    return address;
  }
}
