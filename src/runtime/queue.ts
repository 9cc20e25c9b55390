import type { Clock } from "#base/clock.ts";

// How does a keyed queue behave?
//   A key is in it at most once, however often it was added: events melt together, because a pass looks at everything anyway.
//   A key that is being worked on is not handed out a second time; added meanwhile, it comes again right after.
//   A delayed key that is added again comes at the earlier of the two times.

/** Which keys are to be looked at, and when. Written by the manager's listeners and workers only; in memory, rebuilt at start. */
export class KeyedQueue<K> {
  readonly #clock: Clock;
  readonly #textOf: (key: K) => string;
  /** Ready keys in order of arrival, with the time at which each became ready. */
  readonly #ready = new Map<string, { key: K; readyAtMs: number }>();
  readonly #delayed = new Map<string, { dueAtMs: number; cancel: () => void }>();
  readonly #working = new Set<string>();
  /** Keys that were added while they were worked on. */
  readonly #again = new Map<string, { key: K; readyAtMs: number }>();
  readonly #waiters: ((item: { key: K; readyAtMs: number } | undefined) => void)[] = [];
  #closed = false;

  constructor(clock: Clock, textOf: (key: K) => string) {
    this.#clock = clock;
    this.#textOf = textOf;
  }

  /** How many keys are ready and not yet taken. */
  get depth(): number {
    return this.#ready.size;
  }

  /** How long the oldest ready key has waited, in milliseconds; 0 when none waits. */
  get ageMs(): number {
    const oldest = this.#ready.values().next().value;
    return oldest === undefined ? 0 : this.#clock.monotonicMs() - oldest.readyAtMs;
  }

  /** Makes the key ready now. */
  add(key: K): void {
    if (this.#closed) return;
    const text = this.#textOf(key);
    this.#undelay(text);
    const item = { key, readyAtMs: this.#clock.monotonicMs() };
    if (this.#working.has(text)) {
      if (!this.#again.has(text)) this.#again.set(text, item);
      return;
    }
    if (!this.#ready.has(text)) this.#ready.set(text, item);
    this.#hand();
  }

  /** Makes the key ready after `delayMs`, unless it is ready or due earlier already. */
  addAfter(key: K, delayMs: number): void {
    if (this.#closed) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const text = this.#textOf(key);
    const dueAtMs = this.#clock.monotonicMs() + delayMs;
    if (this.#ready.has(text) || this.#again.has(text)) return;
    const waiting = this.#delayed.get(text);
    if (waiting !== undefined && waiting.dueAtMs <= dueAtMs) return;
    this.#undelay(text);
    const cancel = this.#clock.after(delayMs, () => {
      this.#delayed.delete(text);
      this.add(key);
    });
    this.#delayed.set(text, { dueAtMs, cancel });
  }

  /** Takes the key that has waited longest; `undefined` once the queue is closed. Every taken key must be given to `done`. */
  take(): Promise<{ key: K; readyAtMs: number } | undefined> {
    return new Promise((resolve) => {
      if (this.#closed) return resolve(undefined);
      this.#waiters.push(resolve);
      this.#hand();
      return undefined;
    });
  }

  /** The pass of the key is over; if it was added meanwhile, it is ready again. */
  done(key: K): void {
    const text = this.#textOf(key);
    this.#working.delete(text);
    const again = this.#again.get(text);
    this.#again.delete(text);
    if (again !== undefined && !this.#closed) {
      this.#undelay(text);
      this.#ready.set(text, again);
    }
    this.#hand();
  }

  /** Hands out nothing any more and forgets everything; waiting takers get `undefined`. */
  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#again.clear();
    for (const waiter of this.#waiters.splice(0)) waiter(undefined);
  }

  #undelay(text: string): void {
    this.#delayed.get(text)?.cancel();
    this.#delayed.delete(text);
  }

  #hand(): void {
    while (this.#waiters.length > 0) {
      const next = this.#ready.entries().next().value;
      if (next === undefined) return;
      const [text, item] = next;
      this.#ready.delete(text);
      this.#working.add(text);
      this.#waiters.shift()?.(item);
    }
  }
}
