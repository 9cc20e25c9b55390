// Why not a library? Packages for retries wait by themselves. Here the pause is a value, for rules and for tests.

/** Exponential growth of pauses between attempts; all times in milliseconds. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Growth per attempt, > 1. */
  readonly factor: number;
  /** Random share of the delay, 0 to 1: keeps many clients from retrying in step. */
  readonly jitter: number;
}

/**
 * Delay before attempt number `attempt` (0 is the first retry).
 * @param random a number from 0 (included) to 1 (excluded); given, not drawn, so that the result is a pure function
 */
export function delayMs(backoff: Backoff, attempt: number, random: number): number {
  const full = Math.min(backoff.maxMs, backoff.firstMs * backoff.factor ** Math.min(attempt, 64));
  return Math.round(full * (1 - backoff.jitter * random));
}
