import type { X509Certificate } from "node:crypto";
import { parsedIn } from "#certificates/pem.ts";
import { namerOf } from "#certificates/trust.ts";
import type { SeenCertificate } from "#cluster/snapshot.ts";

// How long does a provider change wait for clients that cannot get the new CA?
//   Until the certificate of members, or its CA, is about to expire. Waiting longer would cut off every client, as in a
//   CA rotation (ca-rotation.ts).
//   The operator's CA lasts ten years: half a year before its end leaves people enough time for the remaining clients.
//   Other CAs may last days: the same fraction of their life applies.

const MOST_BEFORE_MS = (365 * 86_400_000) / 2;
/**
 * The fraction of a CA's life at its end, in which late clients are no longer waited for: half a year of ten. Larger:
 * clients have less time. Smaller: less time remains to change the certificates.
 */
const PART = 1 / 20;

/**
 * Whether the certificate of members has expired, or its CA is about to. Of several certificates of the CA, the last to
 * expire counts. Without a CA in the bundle, the certificate's own end counts.
 */
export function isCaEnding(shown: SeenCertificate, nowMs: number): boolean {
  if (shown.notAfterMs <= nowMs) return true;
  const isNamedIn = namerOf(shown);
  const own = parsedIn(shown.trust).filter((each) => isNamedIn(each.toString()));
  return own.length > 0 && own.every((each) => isEnding(each, nowMs));
}

function isEnding({ validFromDate, validToDate }: X509Certificate, nowMs: number): boolean {
  const [fromMs, untilMs] = [validFromDate.getTime(), validToDate.getTime()];
  return untilMs - nowMs <= Math.min(MOST_BEFORE_MS, (untilMs - fromMs) * PART);
}
