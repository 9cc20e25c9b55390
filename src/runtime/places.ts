import { isOneMoreLeft } from "#base/places-left.ts";

// How many passes may run side by side?
//   As many as there are workers, not counting passes that take long: those mostly wait, and cost memory only. In total
//   three for each worker, since each pass keeps what it has read and may hold a connection.
// What if ever more passes of one namespace hang?
//   It gets at most two thirds of the slots; base/places-left.ts describes how the rest is shared.
//   If so many namespaces hang that each has one slot, one must end before the next begins: that is the purpose of the
//   bound.

/** Passes side by side for each worker, including those that take long. */
export const PLACES_PER_WORKER = 3;

/** Slots in use, by namespace. Written by the queue only. */
export class Places {
  /** Total number of slots; 1 or more. */
  most = Number.POSITIVE_INFINITY;
  readonly #takenBy = new Map<string, number>();
  #taken = 0;

  get left(): number {
    return this.most - this.#taken;
  }

  takenBy(namespace: string): number {
    return this.#takenBy.get(namespace) ?? 0;
  }

  /** Whether the namespace may use one more slot. */
  isOpenTo(namespace: string): boolean {
    return isOneMoreLeft(this.takenBy(namespace), this.left, this.most);
  }

  /** Whether the namespace uses more slots than all others together. */
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
