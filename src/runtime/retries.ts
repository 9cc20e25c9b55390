import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Urgency } from "#runtime/urgency.ts";

// When is a key looked at again whose pass has come to nothing, and how urgently?
//   After a pause that grows from try to try of the same kind. What a person has done, or lost, is not less urgent since the first look at it was cut
//   short, so the next ones are as urgent; but who fails for ever is not for ever before all others.

/** Pauses after a pass that failed: from half a second to half a minute. */
const FAILURE_BACKOFF: Backoff = { firstMs: 500, maxMs: 30_000, factor: 2, jitter: 0.3 };
/** Pauses after a conflict. The world moves on within moments, but a conflict that stays must not become a hot loop. */
const CONFLICT_BACKOFF: Backoff = { firstMs: 50, maxMs: 2_000, factor: 1.5, jitter: 0.3 };
/** So many tries in a row keep their urgency. Of passes that fail they take half a minute, in which an API server has started again; of conflicts a second. */
export const URGENT_TRIES = 6;

type Failure = "withBackoff" | "afterConflict";

interface Tries {
  readonly is: Failure;
  /** In a row that ended so. */
  readonly same: number;
  /** In a row that came to nothing. */
  readonly all: number;
}

/** Tries in a row that came to nothing, by key. Written by the pass of the same key only. */
export class Retries {
  readonly #tries = new Map<string, Tries>();

  /**
   * Notes one.
   * @param random from 0 (included) to 1 (excluded); it only spreads retries in time
   * @returns for how long the key rests, and how urgent it still is by itself; undefined: no more than its stage says
   */
  note(key: string, is: Failure, urgency: Urgency, random: number): { pauseMs: number; owed: Urgency | undefined } {
    const before = this.#tries.get(key);
    const same = before?.is === is ? before.same + 1 : 1;
    const all = (before?.all ?? 0) + 1;
    this.#tries.set(key, { is, same, all });
    const backoff = is === "withBackoff" ? FAILURE_BACKOFF : CONFLICT_BACKOFF;
    return { pauseMs: delayMs(backoff, same - 1, random), owed: all < URGENT_TRIES ? urgency : undefined };
  }

  /** Forgets them: a pass has decided something. */
  forget(key: string): void {
    this.#tries.delete(key);
  }
}
