import { LRUCache } from "lru-cache";
import type { Clock } from "#base/clock.ts";

/** Token bucket of each object: burst of new events, and time per further event. Values of client-go's spam filter. */
const BURST = 25;
const REFILL_EVERY_MS = 5 * 60_000;
/** Objects with a bucket. The least recently used one is forgotten, and starts again with a full burst. */
const MAX_OBJECTS = 4_096;

/** Rate limit for new events, per object. */
export class TurnsPerObject {
  readonly #clock: Clock;
  readonly #objects = new LRUCache<string, { left: number; atMs: number }>({ max: MAX_OBJECTS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns whether the object may have a new event now */
  take(uid: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#objects.get(uid) ?? { left: BURST, atMs: nowMs };
    const left = Math.min(BURST, before.left + (nowMs - before.atMs) / REFILL_EVERY_MS);
    const taken = left >= 1;
    this.#objects.set(uid, { left: taken ? left - 1 : left, atMs: nowMs });
    return taken;
  }
}
