import type { Clock } from "#base/clock.ts";
import { Places } from "#runtime/places.ts";
import { type WaitingKey, WaitingKeys } from "#runtime/waiting-keys.ts";

// Why are not all that are new begun at once?
//   Whatever is made of them is made by one API server, and some of it one after another: an address for a Service is given under a lock. When hundreds
//   ask for one, most calls end at their deadline, are undone under the same lock, and are made again: of three hundred clusters half were ready
//   after 198 s, and each Service was made seven times (docs/performance.md, `fleet`).
// When is one begun, so that the next one may?
//   When its look has found nothing to do: what it needs of us is made, and it waits for the world. So who waits long for a volume or an image holds up
//   nobody, and where the API server is fast, so is this.
// And when the API server never answers for one, or it cannot be made?
//   After `LONGEST_MS` it counts no more. So at least `MOST` are begun in this time, whatever becomes of them; and no namespace has more than two thirds
//   of the places, ever less of the last third (base/places-left.ts), and its turn after those that have fewer.
// What does not wait: what is begun already, what a person did, what is only looked at again. Other objects have no such stage.

/** So many new objects are being begun side by side. */
export const MOST = 12;

/** So long does one count, in milliseconds: a call that hangs ends by then (kube/call.ts). */
export const LONGEST_MS = 15_000;

/** New objects: whose turn it is to be begun, and those that wait for it. Written by the queue only. */
export class Beginnings<K> {
  readonly #clock: Clock;
  readonly #textOf: (key: K) => string;
  readonly #groupOf: (key: K) => string;
  readonly #onTurn: (item: WaitingKey<K>) => void;
  readonly #places = new Places();
  readonly #waiting: WaitingKeys<K>;
  /** By the text of the key, those that are being begun. */
  readonly #begun = new Map<string, { readonly group: string; readonly cancel: () => void }>();

  /** @param groupOf its namespace @param onTurn called when one that has waited may be begun */
  constructor(
    clock: Clock,
    textOf: (key: K) => string,
    groupOf: (key: K) => string,
    onTurn: (item: WaitingKey<K>) => void,
  ) {
    this.#clock = clock;
    this.#textOf = textOf;
    this.#groupOf = groupOf;
    this.#onTurn = onTurn;
    this.#places.most = MOST;
    this.#waiting = new WaitingKeys(textOf, groupOf, this.#places);
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** The one that has waited longest. */
  get oldest(): WaitingKey<K> | undefined {
    return this.#waiting.oldest;
  }

  has(key: K): boolean {
    return this.#waiting.has(key);
  }

  /** One that is new: it has its turn at once when it is being begun, or there is a place for it; otherwise it waits. */
  add(item: WaitingKey<K>): void {
    if (this.#begun.has(this.#textOf(item.key))) {
      this.#onTurn(item);
      return;
    }
    this.#waiting.add(item);
    this.#next();
  }

  /** It waits no more. @returns it, if it has waited */
  remove(key: K): WaitingKey<K> | undefined {
    return this.#waiting.remove(key);
  }

  /** It is begun, or gone. */
  leave(key: K): void {
    this.#leave(this.#textOf(key));
  }

  /** Forgets everything; nobody has a turn any more. */
  close(): void {
    this.#waiting.clear();
    for (const { cancel } of this.#begun.values()) cancel();
    this.#begun.clear();
  }

  #leave(text: string): void {
    const begun = this.#begun.get(text);
    if (begun === undefined) return;
    begun.cancel();
    this.#begun.delete(text);
    this.#places.leave(begun.group);
    this.#next();
  }

  #next(): void {
    for (let item = this.#waiting.next(); item !== undefined; item = this.#waiting.next()) {
      const [text, group] = [this.#textOf(item.key), this.#groupOf(item.key)];
      this.#places.take(group);
      this.#begun.set(text, { group, cancel: this.#clock.after(LONGEST_MS, () => this.#leave(text)) });
      this.#onTurn(item);
    }
  }
}
