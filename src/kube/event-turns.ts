import type { Clock } from "#base/clock.ts";

/** New events that an object has at once, and how long it then waits for one more; the numbers of client-go. */
const BURST = 25;
const REFILL_EVERY_MS = 5 * 60_000;
/** Objects that are remembered; an older one starts again with a full burst. */
const MAX_OBJECTS = 4_096;

/** How many new events each object may still have. */
export class TurnsPerObject {
  readonly #clock: Clock;
  readonly #objects = new Map<string, { left: number; atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns whether there was one left */
  take(uid: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#objects.get(uid) ?? { left: BURST, atMs: nowMs };
    const left = Math.min(BURST, before.left + (nowMs - before.atMs) / REFILL_EVERY_MS);
    const taken = left >= 1;
    this.#objects.delete(uid); // It moves to the young end of the map.
    this.#objects.set(uid, { left: taken ? left - 1 : left, atMs: nowMs });
    for (const oldest of this.#objects.keys()) {
      if (this.#objects.size <= MAX_OBJECTS) break;
      this.#objects.delete(oldest);
    }
    return taken;
  }
}
