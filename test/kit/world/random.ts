/** Pseudo-random numbers: the same seed gives the same history (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
    for (let warmUp = 0; warmUp < 3; warmUp++) this.next(); // otherwise neighbouring seeds start with similar numbers
  }

  /** From 0 (included) to 1 (excluded). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** A whole number, both ends included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** One of the items; `undefined` when there is none. */
  pick<T>(items: readonly T[]): T | undefined {
    return items.length === 0 ? undefined : items[this.below(items.length)];
  }

  /** One of the names, with probabilities in proportion to the weights. */
  weighted<Name extends string>(weights: ReadonlyMap<Name, number>): Name | undefined {
    let total = 0;
    for (const weight of weights.values()) total += weight;
    let left = this.next() * total;
    for (const [name, weight] of weights) {
      left -= weight;
      if (left < 0) return name;
    }
    return undefined;
  }
}
