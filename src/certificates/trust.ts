import type { X509Certificate } from "node:crypto";
import { writtenNames } from "#certificates/der.ts";
import { authorityKeyOf, idOf, parsedIn } from "#certificates/pem.ts";

// What is an authority known by?
//   By its name, its key, and what it calls that: so does whoever verifies. Its own certificate may be made anew, and both may stand side by side in a bundle; each of
//   them vouches for the same. By the SHA-256 of a certificate alone it would be taken for two.

/**
 * Whether the authority has signed the certificate, and is called there as it calls itself, byte by byte: so etcd asks. One whose key cannot be read has
 * issued nothing, and is asked no further.
 */
export function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  const isCalled = () => writtenNames(certificate).issuer.equals(writtenNames(authority).subject);
  return certificate.checkIssued(authority) && isCalled() && certificate.verify(authority.publicKey);
}

/** Whether it is valid, and stays so for this long. One that begins later is none: whoever made it had a wrong clock. */
export function isFresh({ validFromDate, validToDate }: X509Certificate, nowMs: number, forMs: number): boolean {
  return validFromDate.getTime() <= nowMs && nowMs + forMs < validToDate.getTime();
}

/** More certificates between a leaf and its authority than anybody has. */
const LONGEST_CHAIN = 10;

/**
 * The authorities that vouch for the first of these, of those that are trusted; the nearest first. One suffices, and several of one name and key are
 * believed as long as one of them is good.
 * @param chain what a server shows: its own certificate, and those between it and the authority
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

/** By whom somebody is believed. */
export interface Signed {
  /** SHA-256 of a certificate of the authority; undefined when nobody is known to have signed. */
  readonly signerId: string | undefined;
  /** PEM text that has it. */
  readonly trust: string;
}

/** An authority, by what is seen of its Secret. */
interface Authority {
  readonly fingerprint: string;
  readonly trust: string;
}

/** What an authority has signed is believed by it. */
export function asSigner({ fingerprint, trust }: Authority): Signed {
  return { signerId: fingerprint, trust };
}

/**
 * Whether a bundle names the authority by which somebody is believed, by name and key; no bundle does when that is not known.
 * Made for one who is asked about again and again: the authority is looked for at the first question, and not before.
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

/** Whether one of these authorities vouches for who is believed by this one. */
export function vouches(bundle: string, signed: Signed): boolean {
  return namerOf(signed)(bundle);
}

/** Whether one authority has signed both. What nobody is known to have signed is like nothing else. */
export function isSameSigner(one: Signed, other: Signed): boolean {
  if (one.signerId === undefined || other.signerId === undefined) return false;
  if (one.signerId === other.signerId) return true;
  const own = parsedIn(other.trust).find((each) => idOf(each) === other.signerId);
  return own !== undefined && vouches(own.toString(), one);
}

/** Whether it is this authority that has signed it, whichever of its certificates is named. */
export function hasSigned(authority: Authority, signed: Signed | undefined): boolean {
  return signed !== undefined && isSameSigner(asSigner(authority), signed);
}
