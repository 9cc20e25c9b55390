import { Places } from "#runtime/places.ts";
import { moreUrgent, nextOf, TURNS_TO_THE_OLDEST, URGENCIES, type Urgency } from "#runtime/urgency.ts";

/** A key that waits for a worker. */
export interface WaitingKey<K> {
  readonly key: K;
  /** Milliseconds of a monotonic clock. */
  readonly readyAtMs: number;
  readonly urgency: Urgency;
}

interface Known<K> extends WaitingKey<K> {
  readonly text: string;
  readonly namespace: Namespace<K>;
}

/** The waiting keys of a namespace. Exists only while there are any. */
interface Namespace<K> {
  readonly name: string;
  /** Keys by urgency, in order of arrival. */
  readonly keys: Map<Urgency, Map<string, Known<K>>>;
  /** Urgency of the key that had this namespace's last turn. */
  before: Urgency | undefined;
  /** Urgency of its most urgent key. */
  urgency: Urgency;
}

/**
 * Keys that wait for a worker, each once, in the order that urgency.ts describes.
 * Choosing the next one inspects few namespaces; every eighth turn it skips the keys of namespaces that have no free
 * slot.
 */
export class WaitingKeys<K> {
  readonly #textOf: (key: K) => string;
  readonly #groupOf: (key: K) => string;
  readonly #places: Places;
  /** All keys, in order of arrival. */
  readonly #all = new Map<string, Known<K>>();
  /** Ordered by the last turn, the longest ago first. */
  readonly #namespaces = new Map<string, Namespace<K>>();
  /** Namespaces by the urgency of their most urgent key, in the order of their next turns. */
  readonly #lines = new Map<Urgency, Set<Namespace<K>>>(URGENCIES.map((urgency) => [urgency, new Set()]));
  #turns = 0;
  #isOldestDue = false;
  /** Whether the last turn was for an edit, so that the next one is not chosen by urgency. */
  #isPatientDue = false;
  /** The namespace of the last turn. */
  #last: string | undefined;

  /** @param places slots in use by keys that were taken out */
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

  /** The key that has waited longest. */
  get oldest(): WaitingKey<K> | undefined {
    return this.#first();
  }

  /** Adds the key. A key that already waits keeps its time, and the greater urgency counts. */
  add(item: WaitingKey<K>): void {
    const text = this.#textOf(item.key);
    const before = this.#all.get(text);
    const urgency = before === undefined ? item.urgency : moreUrgent(before.urgency, item.urgency);
    if (before?.urgency === urgency) return;
    const namespace = before?.namespace ?? this.#namespaceOf(this.#groupOf(item.key), urgency);
    if (before !== undefined) leave(before);
    const known = { ...(before ?? { ...item, text, namespace }), urgency };
    this.#all.set(text, known); // Setting an existing entry keeps its position.
    const line = namespace.keys.get(urgency) ?? new Map<string, Known<K>>();
    namespace.keys.set(urgency, line.set(text, known));
    this.#line(namespace);
  }

  /** Takes out the next key; `undefined` when none may start. */
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

  /** Removes a key out of turn. @returns the key, if it was waiting */
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

  /**
   * The key that has waited longest among those that may be next. Undefined, too, when another namespace must have one
   * more turn first.
   */
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
    // Moves the namespace to the end of the line.
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

  /** The namespace with the fewest slots in use among those that may be next; the first of several. */
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

  /**
   * A namespace with most slots must wait for any other. The namespace of the last turn must wait for any other that
   * does not have most slots.
   */
  #mayBeNext({ name }: Namespace<K>): boolean {
    if (!this.#places.isOpenTo(name)) return false;
    if (this.#places.isMostOf(name)) return !this.#isThereAnother(name, () => true);
    return name !== this.#last || !this.#isThereAnother(name, (other) => !this.#places.isMostOf(other));
  }

  /** Whether another namespace waits that has a free slot and meets the condition. */
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

  /** Moves the namespace into the line of its greatest urgency. */
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
