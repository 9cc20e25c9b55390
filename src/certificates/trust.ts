import type { X509Certificate } from "node:crypto";
import { writtenNames } from "#certificates/der.ts";
import { isCheckable } from "#certificates/key-kinds.ts";
import { authorityKeyOf, idOf, parsedIn } from "#certificates/pem.ts";

// How is a CA identified?
//   By its name, its key and its subject key identifier, as in verification. The CA's own certificate may be renewed,
//   and both versions may stand in a bundle; each verifies the same signatures. The SHA-256 of a certificate would make
//   them two CAs.

/**
 * Whether the CA has signed the certificate and has its issuer name, byte by byte, as etcd compares names. A CA with a
 * key that etcd rejects has signed nothing. The signature is checked last, since that costs most.
 */
export function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  const isCalled = writtenNames(certificate).issuer.equals(writtenNames(authority).subject);
  if (!isCalled || !isCheckable(authority) || !certificate.checkIssued(authority)) return false;
  return certificate.verify(authority.publicKey);
}

/**
 * Whether it is valid and stays valid for this long. A start in the future does not count as valid: the issuer's clock
 * was wrong.
 */
export function isFresh({ validFromDate, validToDate }: X509Certificate, nowMs: number, forMs: number): boolean {
  return validFromDate.getTime() <= nowMs && nowMs + forMs < validToDate.getTime();
}

/** More intermediates than any real chain has. */
const LONGEST_CHAIN = 10;

/**
 * The trusted CAs that signed the first certificate, directly or through intermediates; the nearest first. One
 * suffices: among several of one name and key, a single valid one is enough.
 * @param chain what a server presents: its own certificate and the intermediates
 */
export function signersOf(
  [leaf, ...between]: readonly X509Certificate[],
  trusted: readonly X509Certificate[],
): readonly X509Certificate[] {
  const signers: X509Certificate[] = [];
  let last = leaf;
  for (let length = 0; last !== undefined && length < LONGEST_CHAIN; length++) {
    const certificate: X509Certificate = last;
    signers.push(...trusted.filter((authority) => isSignedBy(certificate, authority)));
    last = between.find((each) => each !== certificate && isSignedBy(certificate, each));
  }
  return signers;
}

/** A certificate's signer. */
export interface Signed {
  /** SHA-256 of a certificate of the CA; undefined when the signer is unknown. */
  readonly signerId: string | undefined;
  /** PEM text that contains the CA. */
  readonly trust: string;
}

/** A CA, by the facts of its Secret. */
interface Authority {
  readonly fingerprint: string;
  readonly trust: string;
}

/** The CA as the signer of certificates that it issues. */
export function asSigner({ fingerprint, trust }: Authority): Signed {
  return { signerId: fingerprint, trust };
}

/**
 * Returns a test whether a bundle contains the signer, compared by name and key; always false when the signer is
 * unknown.
 * The signer is looked up at the first call, since callers test many bundles.
 */
export function namerOf({ signerId, trust }: Signed): (bundle: string) => boolean {
  let key: string | undefined;
  return (bundle) => {
    key ??= parsedIn(trust)
      .filter((each) => idOf(each) === signerId)
      .map(authorityKeyOf)
      .at(0);
    return key !== undefined && parsedIn(bundle).some((each) => authorityKeyOf(each) === key);
  };
}

/** Whether a bundle contains the signer. */
export function vouches(bundle: string, signed: Signed): boolean {
  return namerOf(signed)(bundle);
}

/** Whether one CA has signed both. An unknown signer equals no other. */
export function isSameSigner(one: Signed, other: Signed): boolean {
  if (one.signerId === undefined || other.signerId === undefined) return false;
  if (one.signerId === other.signerId) return true;
  const own = parsedIn(other.trust).find((each) => idOf(each) === other.signerId);
  return own !== undefined && vouches(own.toString(), one);
}

/** Whether this CA has signed it, compared by name and key. */
export function hasSigned(authority: Authority, signed: Signed | undefined): boolean {
  return signed !== undefined && isSameSigner(asSigner(authority), signed);
}
