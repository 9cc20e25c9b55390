import { X509Certificate } from "node:crypto";
import { isFresh, isSignedBy } from "#certificates/trust.ts";
import type { Material } from "#webhooks/certificate/material.ts";

// How is a certificate changed without one failed call?
//   A new authority is trusted beside the old one before anything that it signed is shown, and the old one is trusted until nobody
//   shows anything of its any more. So there is no moment at which order matters between replicas.

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** So far back certificates begin: a clock elsewhere may be behind. */
export const BACKDATED_MS = DAY_MS;
export const AUTHORITY_VALID_MS = 365 * DAY_MS;
export const SERVING_VALID_MS = 90 * DAY_MS;
/** Before its end a serving certificate is renewed; an operator that was away for weeks still comes in time. */
const RENEW_SERVING_MS = 30 * DAY_MS;
/** An authority outlives every certificate that it signs. */
const RENEW_AUTHORITY_MS = SERVING_VALID_MS + RENEW_SERVING_MS;
/** After a new authority was made: every replica has looked at the Secret many times by then (keeper.ts). */
const EARLIER_TRUSTED_MS = HOUR_MS;

/** What is to be made anew: `earlier` are authorities that need not be trusted any more. */
export type Due = "authority" | "serving" | "earlier";

/** What of the material has had its time. @param host the name by which the API server calls */
export function dueOf({ authority, serving, earlier }: Material, host: string, nowMs: number): Due | undefined {
  const signer = new X509Certificate(authority.certificate);
  if (!signer.ca || !isFresh(signer, nowMs, RENEW_AUTHORITY_MS)) return "authority";
  const shown = new X509Certificate(serving.certificate);
  const isOurs = isSignedBy(shown, signer) && shown.checkHost(host) !== undefined;
  if (!isOurs || !isFresh(shown, nowMs, RENEW_SERVING_MS)) return "serving";
  const madeMs = signer.validFromDate.getTime() + BACKDATED_MS;
  return earlier.length > 0 && nowMs - madeMs >= EARLIER_TRUSTED_MS ? "earlier" : undefined;
}

/** Whether a certificate is valid at this time, in PEM. */
export function isValid(certificate: string, nowMs: number): boolean {
  return isFresh(new X509Certificate(certificate), nowMs, 0);
}

/** Whether one of these authorities has signed the certificate; all in PEM. */
export function isTrustedBy(certificate: string, authorities: readonly string[]): boolean {
  const shown = new X509Certificate(certificate);
  return authorities.some((authority) => isSignedBy(shown, new X509Certificate(authority)));
}
