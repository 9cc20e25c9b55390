// Why share strings?
//   JSON.parse creates new strings for every object. Namespaces, labels, kinds, times and names recur in many objects.
//   Such duplicates were a third of the memory that caches need for a cluster.
// Why two generations of strings?
//   Strings that recur stay in the pool, others drop out with their generation. The pool holds two generations at most.

/** Longest string that is shared, in characters. Longer ones, such as certificates, rarely recur. */
const LONGEST = 256;

/** Levels of an object in which strings are shared: deeper nesting is rare, and recursion must be bounded. */
const DEEPEST = 32;

/** Pool in which equal strings are one string in memory. */
export class SharedStrings {
  readonly #most: number;
  #recent = new Map<string, string>();
  #older = new Map<string, string>();

  /** @param most strings of a generation, 1 or more */
  constructor(most = 10_000) {
    this.#most = most;
  }

  /** Upper bound of the number of strings in the pool now; a string may be in both generations. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /**
   * Replaces the strings of the value in place. Frozen parts and parts that are nested too deep stay unchanged.
   * @param value JSON data
   */
  within<T>(value: T, levels = DEEPEST): T {
    if (typeof value === "string") return this.#of(value) as T;
    if (typeof value !== "object" || value === null || levels === 0 || Object.isFrozen(value)) return value;
    const parts = value as Record<string, unknown>;
    for (const key of Object.keys(parts)) {
      const part = parts[key];
      if (typeof part === "string" || typeof part === "object") parts[key] = this.within(part, levels - 1);
    }
    return value;
  }

  #of(text: string): string {
    if (text.length > LONGEST) return text;
    const recent = this.#recent.get(text);
    if (recent !== undefined) return recent;
    const known = this.#older.get(text) ?? text;
    if (this.#recent.size >= this.#most) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(known, known);
    return known;
  }
}
