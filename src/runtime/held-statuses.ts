import type { Clock } from "#base/clock.ts";
import { type Key, keyText } from "#runtime/controller.ts";

/**
 * How long a status whose news is not pressing waits for more, in milliseconds: what changes twice within it is written once, and nobody sees
 * it later than that.
 */
export const HELD_FOR_MS = 1_000;

/** Since when statuses wait to be written. A cache: a process that starts begins without. */
export class HeldStatuses {
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that the status of the key may wait. @returns how much longer, in milliseconds; 0: it is to be written now */
  hold(key: Key): number {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(keyText(key)) ?? nowMs;
    this.#sinceMs.set(keyText(key), sinceMs);
    return Math.max(0, sinceMs + HELD_FOR_MS - nowMs);
  }

  /** It has been written, or says nothing new any more. */
  release(key: Key): void {
    this.#sinceMs.delete(keyText(key));
  }
}
