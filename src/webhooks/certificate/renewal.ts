import { X509Certificate } from "node:crypto";
import { isFresh, isSignedBy } from "#certificates/trust.ts";
import type { Material } from "#webhooks/certificate/material.ts";

// How is the certificate changed without a failed call?
//   A new CA is trusted together with the old one before any certificate of it is used. The old one is trusted until no
//   replica uses a certificate of it. So the order in which replicas act never matters.

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Time in milliseconds by which certificates are backdated, for clients with a clock that is behind. */
export const BACKDATED_MS = DAY_MS;
export const AUTHORITY_VALID_MS = 365 * DAY_MS;
export const SERVING_VALID_MS = 90 * DAY_MS;
/** Time before expiry at which the serving certificate is renewed: enough for an operator that was down for weeks. */
const RENEW_SERVING_MS = 30 * DAY_MS;
/** Time before expiry at which the CA is renewed: it outlives every certificate that it signs. */
const RENEW_AUTHORITY_MS = SERVING_VALID_MS + RENEW_SERVING_MS;
/** Time for which the previous CA stays trusted: every replica has read the Secret many times by then (keeper.ts). */
const EARLIER_TRUSTED_MS = HOUR_MS;

/** What has to be renewed. `earlier`: previous CAs no longer need to be trusted. */
export type Due = "authority" | "serving" | "earlier";

/** The part of the material that is due. @param host the name by which the API server calls */
export function dueOf({ authority, serving, earlier }: Material, host: string, nowMs: number): Due | undefined {
  const signer = new X509Certificate(authority.certificate);
  if (!signer.ca || !isFresh(signer, nowMs, RENEW_AUTHORITY_MS)) return "authority";
  const shown = new X509Certificate(serving.certificate);
  const isOurs = isSignedBy(shown, signer) && shown.checkHost(host) !== undefined;
  if (!isOurs || !isFresh(shown, nowMs, RENEW_SERVING_MS)) return "serving";
  const madeMs = signer.validFromDate.getTime() + BACKDATED_MS;
  return earlier.length > 0 && nowMs - madeMs >= EARLIER_TRUSTED_MS ? "earlier" : undefined;
}

/** Whether a certificate is valid at this time. @param certificate in PEM */
export function isValid(certificate: string, nowMs: number): boolean {
  return isFresh(new X509Certificate(certificate), nowMs, 0);
}

/** Whether one of these CAs has signed the certificate; all in PEM. */
export function isTrustedBy(certificate: string, authorities: readonly string[]): boolean {
  const shown = new X509Certificate(certificate);
  return authorities.some((authority) => isSignedBy(shown, new X509Certificate(authority)));
}
