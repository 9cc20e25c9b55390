import type { lifeOf } from "#api/tls.ts";
import type { CertificateFacts } from "#certificates/facts.ts";

/**
 * Whether the renewal is overdue: less than half of the renewal period is left. If the issuer chose a shorter lifetime
 * than the spec, the period shrinks in proportion.
 * @param life lifetime and renewal period according to the spec
 */
export function isLate(
  { notAfterMs, lifeMs }: Pick<CertificateFacts, "notAfterMs" | "lifeMs">,
  { durationMs, renewBeforeMs }: ReturnType<typeof lifeOf>,
  nowMs: number,
): boolean {
  return notAfterMs - nowMs <= (renewBeforeMs / 2) * Math.min(1, lifeMs / durationMs);
}
