import type { Clock } from "#base/clock.ts";

// Why a bound?
//   Each call in flight needs a connection of its own, which over TLS costs 130 kB and a handshake on both sides. A hundred clusters that are
//   made at once have two hundred passes call side by side, and an API server answers them no sooner than thirty (docs/performance.md, `fleet`).
// Why does it not count those that take long?
//   They hang in somebody's admission webhook, or the server is slow: neither is to hold up the others. So at least `most` calls are begun in
//   each `slowMs`, whatever becomes of them; the pool of connections bounds how many there can be in all.

export interface InFlightLimits {
  /** Calls that may be in flight side by side, those aside that take long; 1 or more. */
  readonly most: number;
  /** A call takes long that has been in flight for this many milliseconds. */
  readonly slowMs: number;
}

/** Calls that a server answers within 20 ms are made at 1,600 a second with these: three times what the rate limit lets pass. */
export const DEFAULT_IN_FLIGHT: InFlightLimits = { most: 32, slowMs: 1_000 };

/** One who waits for a place. */
interface Waiter {
  /** It is its turn. */
  readonly go: () => void;
  readonly fail: (why: Error) => void;
}

/** How many calls are in flight side by side. In order of arrival. */
export class InFlight {
  readonly #clock: Clock;
  readonly #limits: InFlightLimits;
  /** When each of those that count has begun, by monotonic clock, the earliest first. */
  readonly #begun = new Map<symbol, number>();
  readonly #waiting = new Set<Waiter>();
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock, limits: InFlightLimits = DEFAULT_IN_FLIGHT) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Resolves when a call may begin; rejects with the signal's reason, and then takes no place.
   * @returns what to call when it has ended
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiter: Waiter = { go: () => resolve(this.#begin()), fail: reject };
    const giveUp = (): void => {
      this.#waiting.delete(waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    this.#waiting.add(waiter);
    this.#next();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Whoever waits now hears why it waits in vain. */
  refuseAll(why: Error): void {
    for (const { fail } of this.#waiting) fail(why);
    this.#waiting.clear();
  }

  #begin(): () => void {
    const place = Symbol();
    this.#begun.set(place, this.#clock.monotonicMs());
    return () => {
      if (this.#begun.delete(place)) this.#next();
    };
  }

  /** Lets in as many as there is room for, and looks again when the earliest call begins to take long. */
  #next(): void {
    this.#dropSlow();
    for (const waiter of this.#waiting) {
      if (this.#begun.size >= this.#limits.most) break;
      this.#waiting.delete(waiter);
      waiter.go();
    }
    this.#stopTimer?.();
    const [earliestMs] = this.#begun.values();
    const isFull = this.#waiting.size > 0 && earliestMs !== undefined;
    this.#stopTimer = isFull
      ? this.#clock.after(earliestMs + this.#limits.slowMs - this.#clock.monotonicMs(), () => this.#next())
      : undefined;
  }

  #dropSlow(): void {
    const slowMs = this.#clock.monotonicMs() - this.#limits.slowMs;
    for (const [place, begunMs] of this.#begun) {
      if (begunMs > slowMs) return;
      this.#begun.delete(place);
    }
  }
}
