import type { X509Certificate } from "node:crypto";

/** Whether the authority has signed the certificate. One whose key cannot be read has issued nothing, and is asked no further. */
export function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

/** Whether it is valid, and stays so for this long. One that begins later is none: whoever made it had a wrong clock. */
export function isFresh({ validFromDate, validToDate }: X509Certificate, nowMs: number, forMs: number): boolean {
  return validFromDate.getTime() <= nowMs && nowMs + forMs < validToDate.getTime();
}

/** More certificates between a leaf and its authority than anybody has. */
const LONGEST_CHAIN = 10;

/**
 * The authority that vouches for the first of these, if it is one of those that are trusted.
 * @param chain what a server shows: its own certificate, and those between it and the authority
 */
export function signerOf(
  [leaf, ...between]: readonly X509Certificate[],
  trusted: readonly X509Certificate[],
): X509Certificate | undefined {
  let last = leaf;
  for (let length = 0; last !== undefined && length < LONGEST_CHAIN; length++) {
    const certificate: X509Certificate = last;
    const signer = trusted.find((authority) => isSignedBy(certificate, authority));
    if (signer !== undefined) return signer;
    last = between.find((each) => each !== certificate && isSignedBy(certificate, each));
  }
  return undefined;
}
