import type { Clock } from "#base/clock.ts";
import { Beginnings } from "#runtime/beginnings.ts";
import { Places } from "#runtime/places.ts";
import { moreUrgent, type Urgency } from "#runtime/urgency.ts";
import { type WaitingKey, WaitingKeys } from "#runtime/waiting-keys.ts";

// Behaviour of the keyed queue:
// - A key is queued at most once, however often it is added: a pass observes everything anyway.
// - A key that is being processed is not handed out again; if it is added during that time, it is requeued afterwards.
// - A delayed key that is added again becomes ready at the earlier of the two times, with the urgency that belongs to
//   it.
// - A key keeps the urgency that it was handed out with after a pass that decided nothing.
// - A new key is ready when it gets a start slot: beginnings.ts.
// - The order of ready keys: urgency.ts. Limits on parallel passes, in total and by namespace: places.ts.
// Why not a library? Queues on npm know priorities, but neither keys that are queued once nor turns by namespace.

/**
 * Which keys need a pass, and when. Written by the manager's listeners and workers only; in memory, rebuilt at start.
 */
export class KeyedQueue<K> {
  readonly #clock: Clock;
  readonly #textOf: (key: K) => string;
  readonly #groupOf: (key: K) => string;
  readonly #places = new Places();
  readonly #ready: WaitingKeys<K>;
  readonly #beginnings: Beginnings<K>;
  readonly #delayed = new Map<string, { dueAtMs: number; cancel: () => void }>();
  readonly #working = new Set<string>();
  /** Keys that were added while they were being processed. */
  readonly #again = new Map<string, WaitingKey<K>>();
  /** Urgencies of keys with a pass that decided nothing, until they are handed out again. */
  readonly #owed = new Map<string, Urgency>();
  readonly #waiters: ((item: WaitingKey<K> | undefined) => void)[] = [];
  #closed = false;

  /** @param groupOf keys of equal urgency take turns by group */
  constructor(clock: Clock, textOf: (key: K) => string, groupOf: (key: K) => string = () => "") {
    this.#clock = clock;
    this.#textOf = textOf;
    this.#groupOf = groupOf;
    this.#ready = new WaitingKeys(textOf, groupOf, this.#places);
    this.#beginnings = new Beginnings(clock, textOf, groupOf, (item) => this.#makeReady(item));
  }

  /** Limits how many keys are processed side by side. Default: no limit. */
  limit(most: number): void {
    this.#places.most = most;
  }

  /** How many keys wait and are not taken yet. */
  get depth(): number {
    return this.#ready.size + this.#beginnings.size;
  }

  /** How long the oldest key has waited, in milliseconds; 0 when none waits. */
  get ageMs(): number {
    const nowMs = this.#clock.monotonicMs();
    return nowMs - Math.min(this.#ready.oldest?.readyAtMs ?? nowMs, this.#beginnings.sinceMs ?? nowMs);
  }

  /** Makes the key ready now. */
  add(key: K, urgency: Urgency): void {
    if (this.#closed) return;
    const text = this.#textOf(key);
    this.#undelay(text);
    const item = { key, readyAtMs: this.#clock.monotonicMs(), urgency: this.#withOwed(text, urgency) };
    if (this.#working.has(text)) {
      const before = this.#again.get(text) ?? item;
      this.#again.set(text, { ...before, urgency: moreUrgent(before.urgency, urgency) });
      return;
    }
    this.#wait(item);
  }

  /** Makes the key ready after `delayMs`, unless it is ready or due earlier already. */
  addAfter(key: K, delayMs: number, urgency: Urgency): void {
    if (this.#closed) return;
    if (delayMs <= 0) {
      this.add(key, urgency);
      return;
    }
    const text = this.#textOf(key);
    const dueAtMs = this.#clock.monotonicMs() + delayMs;
    if (this.#ready.has(key) || this.#beginnings.has(key) || this.#again.has(text)) return;
    const waiting = this.#delayed.get(text);
    if (waiting !== undefined && waiting.dueAtMs <= dueAtMs) return;
    this.#undelay(text);
    const cancel = this.#clock.after(delayMs, () => {
      this.#delayed.delete(text);
      this.add(key, urgency);
    });
    this.#delayed.set(text, { dueAtMs, cancel });
  }

  /** Takes the next key; `undefined` once the queue is closed. Every taken key must be given to `done`. */
  take(): Promise<WaitingKey<K> | undefined> {
    return new Promise((resolve) => {
      if (this.#closed) return resolve(undefined);
      this.#waiters.push(resolve);
      this.#hand();
      return undefined;
    });
  }

  /**
   * Ends the processing of a key; requeues it if it was added during that time.
   * @param owed the urgency that it was handed out with, when the pass decided nothing
   * @param beginning for a key with a start slot: `ended`, there is nothing left to do; `failed`, it is retried later;
   * undefined: it keeps the slot
   */
  done(key: K, owed?: Urgency, beginning?: "ended" | "failed"): void {
    const text = this.#textOf(key);
    this.#working.delete(text);
    this.#places.leave(this.#groupOf(key));
    if (owed !== undefined) this.#owed.set(text, owed);
    if (beginning !== undefined) this.#beginnings.leave(key, beginning === "ended");
    const again = this.#again.get(text);
    this.#again.delete(text);
    if (again !== undefined && !this.#closed) {
      this.#undelay(text);
      this.#wait({ ...again, urgency: this.#withOwed(text, again.urgency) });
    }
    this.#hand();
  }

  /** Stops handing out and forgets everything; waiting takers get `undefined`. */
  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#beginnings.close();
    this.#again.clear();
    this.#owed.clear();
    for (const waiter of this.#waiters.splice(0)) waiter(undefined);
  }

  #withOwed(text: string, urgency: Urgency): Urgency {
    return moreUrgent(this.#owed.get(text) ?? urgency, urgency);
  }

  #wait(item: WaitingKey<K>): void {
    const isWaiting = this.#beginnings.has(item.key);
    const urgency = isWaiting ? moreUrgent("new", item.urgency) : item.urgency;
    if (urgency === "new" && !this.#ready.has(item.key)) {
      this.#beginnings.add(item);
      return;
    }
    const readyAtMs = this.#beginnings.remove(item.key)?.readyAtMs ?? item.readyAtMs;
    this.#makeReady({ ...item, readyAtMs });
  }

  #makeReady(item: WaitingKey<K>): void {
    this.#ready.add(item);
    this.#hand();
  }

  #undelay(text: string): void {
    this.#delayed.get(text)?.cancel();
    this.#delayed.delete(text);
  }

  #hand(): void {
    while (this.#waiters.length > 0) {
      const item = this.#ready.next();
      if (item === undefined) return;
      const text = this.#textOf(item.key);
      this.#working.add(text);
      this.#beginnings.handedOut(item.key);
      this.#places.take(this.#groupOf(item.key));
      this.#owed.delete(text);
      this.#waiters.shift()?.(item);
    }
  }
}
