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

/**
 * Pause before the next attempt, in milliseconds: as long as all attempts have taken so far, within bounds. So pauses
 * double, and the attempts of a long outage are few.
 * @param soFarMs from the start of the first attempt to the end of the last one
 */
export function doublingPauseMs(soFarMs: number, { leastMs, mostMs }: { leastMs: number; mostMs?: number }): number {
  return Math.min(Math.max(soFarMs, leastMs), mostMs ?? Number.POSITIVE_INFINITY);
}
