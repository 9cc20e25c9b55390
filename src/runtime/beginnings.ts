import type { Clock } from "#base/clock.ts";
import { DEADLINE_MS } from "#kube/requests.ts";
import { Places } from "#runtime/places.ts";
import { type WaitingKey, WaitingKeys } from "#runtime/waiting-keys.ts";

// Why are not all that are new begun at once?
//   Whatever is made of them is made by one API server, and some of it one after another: an address for a Service is given under a lock. When hundreds
//   ask for one, most calls end at their deadline, are undone under the same lock, and are made again: of three hundred clusters half were ready
//   after 198 s, and each Service was made seven times (docs/performance.md, `fleet`).
// When is one begun, so that the next one may?
//   When its look has found nothing to do: what it needs of us is made, and it waits for the world. So who waits long for a volume or an image holds up
//   nobody, and where the API server is fast, so is this.
// And when it cannot be made, or the API server never answers for it?
//   Its turn is over when a look at it fails, `LONGEST_LOOK_MS` after it was handed out, and `LONGEST_TURN_MS` after it was for the first time. Where that
//   took `SLOW_MS` or more, it waits in a line of its own from then on, with `MOST_AGAIN` places, until it has come to an end: whoever hangs does so once before
//   all others. Of each line's places no namespace has all (base/places-left.ts), and its turn comes after those that have fewer.
// What does not wait: what is begun already, what a person did, what is only looked at again. Other objects have no such stage.

/** So many new objects are being begun side by side. */
export const MOST = 12;

/** And so many of those that did not come to an end in their turn before. */
export const MOST_AGAIN = 4;

/** So long after it was handed out one counts no more, in milliseconds: a call that hangs ends by then. */
export const LONGEST_LOOK_MS = DEADLINE_MS;

/** So long does a turn of many looks take at the most, in milliseconds: with a shorter one an API server that is slow to all is given ever more of them. */
export const LONGEST_TURN_MS = 60_000;

/** A look that fails sooner, in milliseconds, has held up nobody. */
export const SLOW_MS = 1_000;

/** New objects: whose turn it is to be begun, and those that wait for it. Written by the queue only. */
export class Beginnings<K> {
  readonly #clock: Clock;
  readonly #textOf: (key: K) => string;
  readonly #groupOf: (key: K) => string;
  readonly #onTurn: (item: WaitingKey<K>) => void;
  readonly #first: Line<K>;
  readonly #again: Line<K>;
  /** By the text of the key, those that are being begun. */
  readonly #begun = new Map<string, Turn<K>>();
  /** By the text of the key, those that have had a turn of some length and have not come to an end since. */
  readonly #unended = new Set<string>();

  /** @param groupOf its namespace @param onTurn called when it may be begun */
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
    this.#first = newLine(MOST, textOf, groupOf);
    this.#again = newLine(MOST_AGAIN, textOf, groupOf);
  }

  /** How many wait. */
  get size(): number {
    return this.#first.waiting.size + this.#again.waiting.size;
  }

  /** When the first of them began to wait; undefined: nobody waits. */
  get sinceMs(): number | undefined {
    const since = [this.#first, this.#again].flatMap(({ waiting }) => waiting.oldest?.readyAtMs ?? []);
    return since.length === 0 ? undefined : Math.min(...since);
  }

  has(key: K): boolean {
    return this.#first.waiting.has(key) || this.#again.waiting.has(key);
  }

  /** One that is new: it has its turn at once when it is being begun, or there is a place for it; otherwise it waits, where it does already. */
  add(item: WaitingKey<K>): void {
    const text = this.#textOf(item.key);
    if (this.#begun.has(text)) {
      this.#onTurn(item);
      return;
    }
    const line = this.#unended.has(text) ? this.#again : this.#first;
    if (!this.has(item.key)) line.waiting.add(item);
    this.#next(line);
  }

  /** It waits no more. @returns it, if it has waited */
  remove(key: K): WaitingKey<K> | undefined {
    return this.#first.waiting.remove(key) ?? this.#again.waiting.remove(key);
  }

  /** It was handed out: its time runs. */
  handedOut(key: K): void {
    const text = this.#textOf(key);
    const turn = this.#begun.get(text);
    if (turn === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    turn.sinceMs ??= nowMs;
    turn.cancel?.();
    const leftMs = Math.min(LONGEST_LOOK_MS, turn.sinceMs + LONGEST_TURN_MS - nowMs);
    turn.cancel = this.#clock.after(leftMs, () => this.#leave(text, false));
  }

  /** It has no place any more. @param isEnded whether it came to an end: it is begun, or gone; else a look at it failed */
  leave(key: K, isEnded: boolean): void {
    this.#leave(this.#textOf(key), isEnded);
  }

  /** Forgets everything; nobody has a turn any more. */
  close(): void {
    for (const { waiting } of [this.#first, this.#again]) waiting.clear();
    for (const { cancel } of this.#begun.values()) cancel?.();
    this.#begun.clear();
  }

  #leave(text: string, isEnded: boolean): void {
    if (isEnded) this.#unended.delete(text);
    const turn = this.#begun.get(text);
    if (turn === undefined) return;
    const { line, group, sinceMs, cancel } = turn;
    cancel?.();
    this.#begun.delete(text);
    if (!isEnded && sinceMs !== undefined && this.#clock.monotonicMs() - sinceMs >= SLOW_MS) this.#unended.add(text);
    line.places.leave(group);
    this.#next(line);
  }

  #next(line: Line<K>): void {
    for (let item = line.waiting.next(); item !== undefined; item = line.waiting.next()) {
      const [text, group] = [this.#textOf(item.key), this.#groupOf(item.key)];
      line.places.take(group);
      this.#begun.set(text, { line, group });
      this.#onTurn(item);
    }
  }
}

/** The place of one that is being begun. */
interface Turn<K> {
  readonly line: Line<K>;
  readonly group: string;
  /** When it was handed out for the first time, by monotonic clock. */
  sinceMs?: number;
  /** Its time does not run any more. */
  cancel?: () => void;
}

/** Those that wait for one of its places. */
interface Line<K> {
  readonly places: Places;
  readonly waiting: WaitingKeys<K>;
}

function newLine<K>(most: number, textOf: (key: K) => string, groupOf: (key: K) => string): Line<K> {
  const places = new Places();
  places.most = most;
  return { places, waiting: new WaitingKeys(textOf, groupOf, places) };
}
