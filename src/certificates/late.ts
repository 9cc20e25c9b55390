import type { lifeOf } from "#api/tls.ts";
import type { CertificateFacts } from "#certificates/facts.ts";

/**
 * Whether it should have been renewed long ago: no more is left of it than half of the time that there was to renew it. Who issues may give it a shorter
 * life than the spec says, or than is supposed where the spec says nothing; then that is so much shorter, too.
 * @param life what the spec says of its side
 */
export function isLate(
  { notAfterMs, lifeMs }: Pick<CertificateFacts, "notAfterMs" | "lifeMs">,
  { durationMs, renewBeforeMs }: ReturnType<typeof lifeOf>,
  nowMs: number,
): boolean {
  return notAfterMs - nowMs <= (renewBeforeMs / 2) * Math.min(1, lifeMs / durationMs);
}
