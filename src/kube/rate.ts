import type { Clock } from "#base/clock.ts";

export interface RateLimits {
  /** Calls per second in the long run. */
  readonly qps: number;
  /** Calls that may be made at once after a quiet time. */
  readonly burst: number;
}

/**
 * What an operator may ask for when nobody says otherwise, per second. The API server protects itself: by its priority and fairness
 * it makes whoever asks too much wait (429 with Retry-After), and knows its own strength, which we do not. So this is only a bound for
 * a loop gone wild, and lies above what a small API server carries out: a hundred clusters that are made at once are some three
 * thousand requests, and at client-go's 5 to 50 a second these alone would take minutes.
 */
export const DEFAULT_REQUESTS_PER_SECOND = 500;

/** A rate with the burst that goes with it: two seconds' worth. @param requestsPerSecond more than 0 */
export function limitsFor(requestsPerSecond: number): RateLimits {
  return { qps: requestsPerSecond, burst: 2 * requestsPerSecond };
}

/**
 * A token bucket with two lanes. The high lane never waits: it takes its token even when none is left, and the normal
 * lane waits longer for it. Only the lease may use it; a lease that queues behind a thousand writes is a lost lease.
 */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #limits: RateLimits;
  #tokens: number;
  #filledAtMs: number;
  /** The normal lane goes one by one, in order of arrival. */
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

  /** Takes a token if there is one, for who does not wait. @returns whether it did */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Resolves when it is this call's turn; rejects with the signal's reason, and then takes no token. */
  take(signal: AbortSignal): Promise<void> {
    const turn = this.#last.then(() => this.#takeNext(signal));
    this.#last = turn.catch(() => undefined); // Whoever waits hears of it; the next in line must go on.
    return unlessAborted(turn, signal);
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

/** A caller that gives up hears so at once, and not when its turn comes. */
async function unlessAborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    await Promise.race([turn, aborted]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
