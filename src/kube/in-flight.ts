import type { Clock } from "#base/clock.ts";

// Why a bound?
//   Each call in flight needs a connection of its own, which over TLS costs 130 kB and a handshake on both sides. A hundred clusters that are
//   made at once have two hundred passes call side by side, and an API server answers them no sooner than thirty (docs/performance.md, `fleet`).
// Why does it not count those that take long?
//   They hang in somebody's admission webhook, or the server is slow: neither is to hold up the others. So at least `most` calls are begun in
//   each `slowMs`, whatever becomes of them; the pool of connections bounds how many there can be in all.
// Who is next of those that wait?
//   A namespace that has the fewest calls among those that count; of several, the one that has been without a turn for longest. So whoever has a
//   slow webhook waits behind its own calls: no namespace gets more than an equal share of the places while others wait. Where one has taken
//   all of them, since nobody waited, those that become free next are the others', after `slowMs` at the most.

export interface InFlightLimits {
  /** Calls that may be in flight side by side, those aside that take long; 1 or more. */
  readonly most: number;
  /** A call takes long that has been in flight for this many milliseconds. */
  readonly slowMs: number;
}

/**
 * Calls that a server answers within 20 ms are made at 1,600 a second with these: three times what the rate limit lets pass. However slow it is,
 * 160 a second are begun: of calls that take 0.9 s, 144 are in flight then, and more than half as many are answered as by all connections that
 * there may be. With a longer `slowMs` who is slow holds up everybody; with a shorter one a server that carries out 170 calls a second, and so
 * answers 32 at a time within 190 ms, is given ever more of them.
 */
export const DEFAULT_IN_FLIGHT: InFlightLimits = { most: 32, slowMs: 200 };

/** A call that counts. */
interface Place {
  readonly namespace: string;
  /** By monotonic clock. */
  readonly begunMs: number;
}

/** One who waits for a place. */
interface Waiter {
  /** It is its turn. */
  readonly go: () => void;
  readonly fail: (why: Error) => void;
}

/** How many calls are in flight side by side. Those of a namespace begin in order of arrival. */
export class InFlight {
  readonly #clock: Clock;
  readonly #limits: InFlightLimits;
  /** Those that count, the earliest first. */
  readonly #places = new Set<Place>();
  /** How many of them each namespace has that has any. */
  readonly #held = new Map<string, number>();
  /** By namespace, those first that have been without a turn for longest. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock, limits: InFlightLimits = DEFAULT_IN_FLIGHT) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Resolves when a call may begin; rejects with the signal's reason, and then takes no place.
   * @param namespace whose call it is; empty: of the whole cluster
   * @returns what to call when it has ended
   */
  async enter(signal: AbortSignal, namespace: string): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiter: Waiter = { go: () => resolve(this.#begin(namespace)), fail: reject };
    const giveUp = (): void => {
      this.#waiting.get(namespace)?.delete(waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    this.#waiting.set(namespace, (this.#waiting.get(namespace) ?? new Set()).add(waiter));
    this.#next();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Whoever waits now hears why it waits in vain. */
  refuseAll(why: Error): void {
    for (const waiters of this.#waiting.values()) for (const { fail } of waiters) fail(why);
    this.#waiting.clear();
  }

  #begin(namespace: string): () => void {
    const place = { namespace, begunMs: this.#clock.monotonicMs() };
    this.#places.add(place);
    this.#held.set(namespace, this.#heldBy(namespace) + 1);
    return () => {
      if (this.#free(place)) this.#next();
    };
  }

  /** @returns whether it counted */
  #free(place: Place): boolean {
    if (!this.#places.delete(place)) return false;
    const left = this.#heldBy(place.namespace) - 1;
    if (left === 0) this.#held.delete(place.namespace);
    else this.#held.set(place.namespace, left);
    return true;
  }

  #heldBy(namespace: string): number {
    return this.#held.get(namespace) ?? 0;
  }

  /** Lets in as many as there is room for, and looks again when the earliest call begins to take long. */
  #next(): void {
    this.#dropSlow();
    while (this.#places.size < this.#limits.most && this.#waiting.size > 0) this.#letIn();
    this.#stopTimer?.();
    const [earliest] = this.#places;
    const isFull = this.#waiting.size > 0 && earliest !== undefined;
    this.#stopTimer = isFull
      ? this.#clock.after(earliest.begunMs + this.#limits.slowMs - this.#clock.monotonicMs(), () => this.#next())
      : undefined;
  }

  /** Lets in whose turn it is. All of a namespace may have given up: then it leaves the line. */
  #letIn(): void {
    const [first = "", ...others] = this.#waiting.keys();
    const namespace = others.reduce((a, b) => (this.#heldBy(b) < this.#heldBy(a) ? b : a), first);
    const waiters = this.#waiting.get(namespace) ?? new Set();
    const [waiter] = waiters;
    this.#waiting.delete(namespace);
    if (waiter === undefined) return;
    waiters.delete(waiter);
    if (waiters.size > 0) this.#waiting.set(namespace, waiters); // at the end of the line
    waiter.go();
  }

  #dropSlow(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const place of this.#places) {
      if (place.begunMs + this.#limits.slowMs > nowMs) return;
      this.#free(place);
    }
  }
}
