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
