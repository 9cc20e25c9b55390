import { isOneMoreLeft } from "#base/places-left.ts";

// How many passes may run side by side?
//   So many as there are workers, and those besides that take long: they wait for somebody, mostly, and cost little but memory. Of all together
//   there are three for each worker at the most, since each keeps what it has read, and may have a connection.
// And when one namespace has ever more that hang?
//   It has two thirds at the most, which is all that two workers' worth of hanging objects need; what is left to others, and when, says base/places-left.ts.
// And with so many namespaces that each has one, and all hang? Then one has to end before another one begins: that is what the bound is for.

/** Passes side by side for each worker, those included that take long. */
export const PLACES_PER_WORKER = 3;

/** Who has how many places. Written by the queue only. */
export class Places {
  /** How many there are; 1 or more. */
  most = Number.POSITIVE_INFINITY;
  readonly #takenBy = new Map<string, number>();
  #taken = 0;

  get left(): number {
    return this.most - this.#taken;
  }

  takenBy(namespace: string): number {
    return this.#takenBy.get(namespace) ?? 0;
  }

  /** Whether the namespace may have one more. */
  isOpenTo(namespace: string): boolean {
    return isOneMoreLeft(this.takenBy(namespace), this.left, this.most);
  }

  /** Whether it has more than all others together. */
  isMostOf(namespace: string): boolean {
    return 2 * this.takenBy(namespace) > this.#taken;
  }

  take(namespace: string): void {
    this.#taken += 1;
    this.#takenBy.set(namespace, this.takenBy(namespace) + 1);
  }

  leave(namespace: string): void {
    const taken = this.takenBy(namespace) - 1;
    this.#taken -= 1;
    if (taken === 0) this.#takenBy.delete(namespace);
    else this.#takenBy.set(namespace, taken);
  }
}
