import type { Clock } from "#base/clock.ts";
import { DEADLINE_MS } from "#kube/requests.ts";
import { Places } from "#runtime/places.ts";
import { type WaitingKey, WaitingKeys } from "#runtime/waiting-keys.ts";

// Why are not all new objects started at once?
//   One API server creates everything, and does some of it under a lock, such as the allocation of Service addresses.
//   With hundreds of requests most calls time out, are undone under the same lock, and are retried. Of three hundred
//   clusters half were ready after 198 s, and each Service was created seven times (docs/performance.md, `fleet`).
// When does an object give its slot to the next one?
//   When a pass finds nothing to do: all its objects exist, and it waits for the cluster. A slow volume or image thus
//   holds up no other object.
// When else does it lose the slot?
//   When its pass fails, `LONGEST_LOOK_MS` after it was handed out, or `LONGEST_TURN_MS` after it was first handed out.
//   If that took `SLOW_MS` or more, it then waits in a second line with `MOST_AGAIN` slots until it succeeds. So a
//   hanging object delays the others once.
//   No namespace gets all slots of a line (base/places-left.ts), and namespaces with fewer slots come first.
// What needs no slot?
//   Started objects, changes by users, and periodic rechecks. Only clusters have a new stage.

/** New objects that are started side by side. */
export const MOST = 12;

/** Slots for objects that did not finish in an earlier turn. */
export const MOST_AGAIN = 4;

/** A pass loses its slot this long after it was handed out, in milliseconds: a hanging call has timed out then. */
export const LONGEST_LOOK_MS = DEADLINE_MS;

/** Longest turn of several passes, in milliseconds. If smaller, a slow API server is given ever more objects. */
export const LONGEST_TURN_MS = 60_000;

/** A pass that fails sooner than this, in milliseconds, did not delay other objects. */
export const SLOW_MS = 1_000;

/** Start slots for new objects, and the objects that wait for one. Written by the queue only. */
export class Beginnings<K> {
  readonly #clock: Clock;
  readonly #textOf: (key: K) => string;
  readonly #groupOf: (key: K) => string;
  readonly #onTurn: (item: WaitingKey<K>) => void;
  readonly #first: Line<K>;
  readonly #again: Line<K>;
  /** Objects that hold a slot, by the text of the key. */
  readonly #begun = new Map<string, Turn<K>>();
  /** Objects that had a long turn and have not finished since, by the text of the key. */
  readonly #unended = new Set<string>();

  /** @param groupOf its namespace @param onTurn called when the object may be started */
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

  /** How many objects wait for a slot. */
  get size(): number {
    return this.#first.waiting.size + this.#again.waiting.size;
  }

  /** When the oldest of them began to wait; undefined: none waits. */
  get sinceMs(): number | undefined {
    const since = [this.#first, this.#again].flatMap(({ waiting }) => waiting.oldest?.readyAtMs ?? []);
    return since.length === 0 ? undefined : Math.min(...since);
  }

  has(key: K): boolean {
    return this.#first.waiting.has(key) || this.#again.waiting.has(key);
  }

  /**
   * Hands the key out if it holds a slot or one is free; otherwise it waits. A key that already waits keeps its
   * position.
   */
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

  /** Removes a waiting key. @returns the key, if it was waiting */
  remove(key: K): WaitingKey<K> | undefined {
    return this.#first.waiting.remove(key) ?? this.#again.waiting.remove(key);
  }

  /** Starts the time limit of the slot: a worker has taken the key. */
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

  /** Frees the slot. @param isEnded true: the object is started, or gone; false: its pass failed */
  leave(key: K, isEnded: boolean): void {
    this.#leave(this.#textOf(key), isEnded);
  }

  /** Forgets everything and frees all slots. */
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

/** The slot of an object that is being started. */
interface Turn<K> {
  readonly line: Line<K>;
  readonly group: string;
  /** When it was first handed out, by monotonic clock. */
  sinceMs?: number;
  /** Cancels the time limit. */
  cancel?: () => void;
}

/** A set of slots, and the keys that wait for one. */
interface Line<K> {
  readonly places: Places;
  readonly waiting: WaitingKeys<K>;
}

function newLine<K>(most: number, textOf: (key: K) => string, groupOf: (key: K) => string): Line<K> {
  const places = new Places();
  places.most = most;
  return { places, waiting: new WaitingKeys(textOf, groupOf, places) };
}
