import { unlessAborted } from "#base/abort.ts";
import type { Clock } from "#base/clock.ts";

// Why not a library?
//   Token buckets on npm have a clock of their own, and no lane that may overdraw.

export interface RateLimits {
  /** Sustained calls per second. */
  readonly qps: number;
  /** Calls that may be made at once after an idle time. */
  readonly burst: number;
}

/**
 * Default rate limit, in requests per second. It only bounds a runaway loop, since the API server protects itself by
 * API Priority and Fairness (429 with Retry-After). With client-go's 5 to 50, a hundred new clusters with their three
 * thousand requests would take minutes.
 */
export const DEFAULT_REQUESTS_PER_SECOND = 500;

/** Limits with a burst of two seconds of requests. @param requestsPerSecond more than 0 */
export function limitsFor(requestsPerSecond: number): RateLimits {
  return { qps: requestsPerSecond, burst: 2 * requestsPerSecond };
}

/**
 * Token bucket with two lanes. The high lane never waits: it may overdraw the bucket, and the normal lane then waits
 * longer. Only leases may use the high lane: a renewal that queued behind a thousand writes would lose the lease.
 */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #limits: RateLimits;
  #tokens: number;
  #filledAtMs: number;
  /** Last call in the queue of the normal lane, which is served in order of arrival. */
  #last: Promise<void> = Promise.resolve();

  constructor(clock: Clock, limits: RateLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#filledAtMs = clock.monotonicMs();
  }

  takeHigh(): void {
    this.#fill();
    this.#tokens -= 1;
  }

  /** Takes a token if there is one, without waiting. @returns whether it did */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Waits for a token; rejects with the signal's reason, and then takes none. */
  take(signal: AbortSignal): Promise<void> {
    const turn = this.#last.then(() => this.#takeNext(signal));
    this.#last = turn.catch(() => undefined); // The caller gets the rejection; the next in the queue continues.
    return unlessAborted(turn, signal); // Not only when the call is the first in the queue.
  }

  async #takeNext(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (this.#fill(); this.#tokens < 1; this.#fill()) {
      await this.#clock.sleep(Math.ceil(((1 - this.#tokens) / this.#limits.qps) * 1000), signal);
    }
    this.#tokens -= 1;
  }

  #fill(): void {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#limits.qps;
    this.#tokens = Math.min(this.#limits.burst, this.#tokens + gained);
    this.#filledAtMs = nowMs;
  }
}
