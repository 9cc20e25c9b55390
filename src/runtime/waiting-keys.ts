import { moreUrgent, turnOf, type Urgency } from "#runtime/urgency.ts";

/** A key that waits for its turn. */
export interface WaitingKey<K> {
  readonly key: K;
  /** Milliseconds of a clock that does not jump. */
  readonly readyAtMs: number;
  readonly urgency: Urgency;
}

interface Known<K> extends WaitingKey<K> {
  readonly text: string;
  /** Among whom it takes turns with others of its urgency: its namespace. */
  readonly group: string;
}

/** Groups in the order of their next turns, and in each its keys in order of arrival. */
type Line<K> = Map<string, Map<string, Known<K>>>;

/** The keys that wait for a worker, each once, in the order that urgency.ts tells. Finding the next one does not look at all of them. */
export class WaitingKeys<K> {
  readonly #textOf: (key: K) => string;
  readonly #groupOf: (key: K) => string;
  /** In order of arrival. */
  readonly #all = new Map<string, Known<K>>();
  readonly #lines = new Map<Urgency, Line<K>>();
  #turns = 0;
  /** With what urgency the last one waited. */
  #before: Urgency | undefined;

  constructor(textOf: (key: K) => string, groupOf: (key: K) => string) {
    this.#textOf = textOf;
    this.#groupOf = groupOf;
  }

  get size(): number {
    return this.#all.size;
  }

  has(key: K): boolean {
    return this.#all.has(this.#textOf(key));
  }

  /** The one that has waited longest. */
  get oldest(): WaitingKey<K> | undefined {
    return this.#all.values().next().value;
  }

  /** Adds the key; of one that waits already the time stays, and the greater urgency counts. */
  add(item: WaitingKey<K>): void {
    const text = this.#textOf(item.key);
    const before = this.#all.get(text);
    const urgency = before === undefined ? item.urgency : moreUrgent(before.urgency, item.urgency);
    if (before?.urgency === urgency) return;
    if (before !== undefined) this.#leaveLine(before);
    const known = { ...(before ?? { ...item, text, group: this.#groupOf(item.key) }), urgency };
    this.#all.set(text, known); // A key that is known keeps its place.
    const line: Line<K> = this.#lines.get(urgency) ?? new Map();
    const own = line.get(known.group) ?? new Map<string, Known<K>>();
    this.#lines.set(urgency, line.set(known.group, own.set(text, known)));
  }

  /** Takes out whose turn it is; `undefined` when nobody waits. */
  next(): WaitingKey<K> | undefined {
    const turn = turnOf(this.#turns, new Set(this.#lines.keys()), this.#before);
    if (turn === undefined) return undefined;
    this.#turns += 1;
    const next = turn === "oldest" ? this.#all.values().next().value : this.#firstIn(turn);
    if (next === undefined) return undefined;
    this.#before = next.urgency;
    this.#all.delete(next.text);
    this.#leaveLine(next);
    return next;
  }

  clear(): void {
    this.#all.clear();
    this.#lines.clear();
  }

  #firstIn(urgency: Urgency): Known<K> | undefined {
    return this.#lines.get(urgency)?.values().next().value?.values().next().value;
  }

  /** Its group goes to the end of the line. */
  #leaveLine({ text, group, urgency }: Known<K>): void {
    const line = this.#lines.get(urgency);
    const own = line?.get(group);
    if (line === undefined || own === undefined) return;
    own.delete(text);
    line.delete(group);
    if (own.size > 0) line.set(group, own);
    if (line.size === 0) this.#lines.delete(urgency);
  }
}
