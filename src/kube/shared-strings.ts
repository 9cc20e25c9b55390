// Why?
//   Each object that arrives is read from JSON, with texts of its own: namespaces, labels, kinds, times and names of which most are the same in many
//   objects. Of what caches keep of a cluster that was a third.
// Why two generations?
//   What is seen again and again stays shared, and what was seen once is forgotten: as many texts as two generations hold are known at most.

/** Longer ones, such as certificates, are rarely the same, in characters. */
const LONGEST = 256;

/** So far down an object texts are looked at, in levels: what is nested deeper is nobody's of whom there are many, and a stack ends. */
const DEEPEST = 32;

/** Has equal texts be one text, in memory. */
export class SharedStrings {
  readonly #most: number;
  #recent = new Map<string, string>();
  #older = new Map<string, string>();

  /** @param most texts of a generation, 1 or more */
  constructor(most = 10_000) {
    this.#most = most;
  }

  /** How many texts are known at this moment, at most. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** The object itself, with its texts shared. What is frozen stays as it is, and what is nested too deep. @param value what JSON can hold */
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
