import { Places } from "#runtime/places.ts";
import { moreUrgent, nextOf, TURNS_TO_THE_OLDEST, URGENCIES, type Urgency } from "#runtime/urgency.ts";

/** A key that waits for its turn. */
export interface WaitingKey<K> {
  readonly key: K;
  /** Milliseconds of a clock that does not jump. */
  readonly readyAtMs: number;
  readonly urgency: Urgency;
}

interface Known<K> extends WaitingKey<K> {
  readonly text: string;
  readonly namespace: Namespace<K>;
}

/** Those of its keys that wait. It is known as long as there are any. */
interface Namespace<K> {
  readonly name: string;
  /** In order of arrival. */
  readonly keys: Map<Urgency, Map<string, Known<K>>>;
  /** With what urgency the one waited that had its last turn. */
  before: Urgency | undefined;
  /** Of the most urgent key. */
  urgency: Urgency;
}

/**
 * The keys that wait for a worker, each once, in the order that urgency.ts tells. Finding the next one looks at few namespaces besides those
 * that have a place; every eighth turn it passes over the keys of those that may have no more.
 */
export class WaitingKeys<K> {
  readonly #textOf: (key: K) => string;
  readonly #groupOf: (key: K) => string;
  readonly #places: Places;
  /** In order of arrival. */
  readonly #all = new Map<string, Known<K>>();
  /** Those longest without a turn first. */
  readonly #namespaces = new Map<string, Namespace<K>>();
  /** Namespaces by their most urgent keys, in the order of their next turns. */
  readonly #lines = new Map<Urgency, Set<Namespace<K>>>(URGENCIES.map((urgency) => [urgency, new Set()]));
  #turns = 0;
  #isOldestDue = false;
  /** Whether the last turn was an edit's. */
  #isPatientDue = false;
  /** The namespace that had the last turn. */
  #last: string | undefined;

  /** @param groupOf its namespace @param places who of those that were taken out is still worked on */
  constructor(textOf: (key: K) => string, groupOf: (key: K) => string, places = new Places()) {
    this.#textOf = textOf;
    this.#groupOf = groupOf;
    this.#places = places;
  }

  get size(): number {
    return this.#all.size;
  }

  has(key: K): boolean {
    return this.#all.has(this.#textOf(key));
  }

  /** The one that has waited longest. */
  get oldest(): WaitingKey<K> | undefined {
    return this.#first();
  }

  /** Adds the key; of one that waits already the time stays, and the greater urgency counts. */
  add(item: WaitingKey<K>): void {
    const text = this.#textOf(item.key);
    const before = this.#all.get(text);
    const urgency = before === undefined ? item.urgency : moreUrgent(before.urgency, item.urgency);
    if (before?.urgency === urgency) return;
    const namespace = before?.namespace ?? this.#namespaceOf(this.#groupOf(item.key), urgency);
    if (before !== undefined) leave(before);
    const known = { ...(before ?? { ...item, text, namespace }), urgency };
    this.#all.set(text, known); // A key that is known keeps its place.
    const line = namespace.keys.get(urgency) ?? new Map<string, Known<K>>();
    namespace.keys.set(urgency, line.set(text, known));
    this.#line(namespace);
  }

  /** Takes out whose turn it is; `undefined` when nobody waits that may begin. */
  next(): WaitingKey<K> | undefined {
    if (this.#places.left <= 0) return undefined;
    const isOldestDue = this.#isOldestDue || (this.#turns + 1) % TURNS_TO_THE_OLDEST === 0;
    const oldest = isOldestDue ? this.#oldestThatMay() : undefined;
    const next = oldest ?? this.#choose();
    if (next === undefined) return undefined;
    this.#turns += 1;
    this.#isOldestDue = isOldestDue && oldest === undefined;
    if (oldest === undefined) this.#isPatientDue = !this.#isPatientDue && next.namespace.urgency === "asked";
    this.#take(next);
    return next;
  }

  /** Takes the key out, though it is not its turn. @returns it, if it has waited */
  remove(key: K): WaitingKey<K> | undefined {
    const known = this.#all.get(this.#textOf(key));
    if (known === undefined) return undefined;
    const { namespace, text } = known;
    this.#all.delete(text);
    leave(known);
    if (namespace.keys.size > 0) this.#line(namespace);
    else this.#forget(namespace);
    return known;
  }

  clear(): void {
    this.#all.clear();
    this.#namespaces.clear();
    for (const line of this.#lines.values()) line.clear();
  }

  /** The one that has waited longest of those that may be next; undefined, too, when one more turn of another one is due before. */
  #oldestThatMay(): Known<K> | undefined {
    for (const known of this.#all.values()) {
      if (this.#mayBeNext(known.namespace)) return known;
      if (known.namespace.name === this.#last) return undefined;
    }
    return undefined;
  }

  #choose(): Known<K> | undefined {
    const namespace = this.#isPatientDue ? this.#fewestOf(this.#namespaces.values()) : this.#mostUrgent();
    if (namespace === undefined) return undefined;
    const urgency = nextOf(new Set(namespace.keys.keys()), namespace.before);
    return urgency && namespace.keys.get(urgency)?.values().next().value;
  }

  #take(taken: Known<K>): void {
    const { namespace, text, urgency } = taken;
    this.#all.delete(text);
    leave(taken);
    namespace.before = urgency;
    this.#last = namespace.name;
    // It goes to the end of the line.
    this.#forget(namespace);
    if (namespace.keys.size === 0) return;
    this.#namespaces.set(namespace.name, namespace);
    this.#line(namespace);
  }

  #forget(namespace: Namespace<K>): void {
    this.#namespaces.delete(namespace.name);
    this.#lines.get(namespace.urgency)?.delete(namespace);
  }

  #first(): Known<K> | undefined {
    return this.#all.values().next().value;
  }

  #mostUrgent(): Namespace<K> | undefined {
    for (const line of this.#lines.values()) {
      const namespace = this.#fewestOf(line);
      if (namespace !== undefined) return namespace;
    }
    return undefined;
  }

  /** Who of those that may be next has the fewest places; of several, the first. */
  #fewestOf(line: Iterable<Namespace<K>>): Namespace<K> | undefined {
    let best: { readonly namespace: Namespace<K>; readonly taken: number } | undefined;
    for (const namespace of line) {
      if (!this.#mayBeNext(namespace)) continue;
      const taken = this.#places.takenBy(namespace.name);
      if (taken === 0) return namespace;
      if (best === undefined || taken < best.taken) best = { namespace, taken };
    }
    return best?.namespace;
  }

  /** Who has most places is not, while anybody else may; nor who had the last turn, while another one than these two may. */
  #mayBeNext({ name }: Namespace<K>): boolean {
    if (!this.#places.isOpenTo(name)) return false;
    if (this.#places.isMostOf(name)) return !this.#isThereAnother(name, () => true);
    return name !== this.#last || !this.#isThereAnother(name, (other) => !this.#places.isMostOf(other));
  }

  /** Whether another namespace waits that may have a place, and is such a one. */
  #isThereAnother(than: string, isSuch: (name: string) => boolean): boolean {
    for (const { name } of this.#namespaces.values())
      if (name !== than && this.#places.isOpenTo(name) && isSuch(name)) return true;
    return false;
  }

  #namespaceOf(name: string, urgency: Urgency): Namespace<K> {
    const known = this.#namespaces.get(name) ?? { name, keys: new Map(), before: undefined, urgency };
    this.#namespaces.set(name, known);
    return known;
  }

  /** Puts it in line with those that are as urgent. */
  #line(namespace: Namespace<K>): void {
    const urgency = [...namespace.keys.keys()].reduce(moreUrgent);
    if (urgency !== namespace.urgency) this.#lines.get(namespace.urgency)?.delete(namespace);
    namespace.urgency = urgency;
    this.#lines.get(urgency)?.add(namespace);
  }
}

function leave<K>({ namespace, text, urgency }: Known<K>): void {
  const line = namespace.keys.get(urgency);
  line?.delete(text);
  if (line?.size === 0) namespace.keys.delete(urgency);
}
