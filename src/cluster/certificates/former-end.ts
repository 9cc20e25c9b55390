import type { X509Certificate } from "node:crypto";
import { parsedIn } from "#certificates/pem.ts";
import { namerOf } from "#certificates/trust.ts";
import type { SeenCertificate } from "#cluster/snapshot.ts";

// How long are clients waited for that cannot be told whom to trust besides?
//   Until what members show is about to be worth nothing to anybody, as when an authority is followed by another one (rotation.ts): then to wait
//   on would cut off all. Ours lasts ten years, and half a year before its end is early enough for people to see to those who are left. Others last
//   from days on: with them that is the same part of their life.

const MOST_BEFORE_MS = (365 * 86_400_000) / 2;
/** The part of an authority's life, of the ten years that ours lasts: half a year. */
const PART = 1 / 20;

/**
 * Whether what members show has ended, or the authority that has signed it is about to; of several certificates of that one the last to end counts.
 * What says nothing of its authority has the end that it says.
 */
export function isAtItsEnd(shown: SeenCertificate, nowMs: number): boolean {
  if (shown.notAfterMs <= nowMs) return true;
  const isNamedIn = namerOf(shown);
  const own = parsedIn(shown.trust).filter((each) => isNamedIn(each.toString()));
  return own.length > 0 && own.every((each) => isEnding(each, nowMs));
}

function isEnding({ validFromDate, validToDate }: X509Certificate, nowMs: number): boolean {
  const [fromMs, untilMs] = [validFromDate.getTime(), validToDate.getTime()];
  return untilMs - nowMs <= Math.min(MOST_BEFORE_MS, (untilMs - fromMs) * PART);
}
