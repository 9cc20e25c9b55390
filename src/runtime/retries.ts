import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Urgency } from "#runtime/urgency.ts";

// When does a key get its next pass after one that failed, and how urgent is it?
//   The pause grows with each failure of the same kind. A change by a user keeps its urgency for some tries, since the
//   failure did not make it less urgent. After that a key that always fails must not come before all others.

/** Pauses after a failed pass: from half a second to half a minute. */
const FAILURE_BACKOFF: Backoff = { firstMs: 500, maxMs: 30_000, factor: 2, jitter: 0.3 };
/** Pauses after a conflict. The cache catches up within moments, but a lasting conflict must not become a hot loop. */
const CONFLICT_BACKOFF: Backoff = { firstMs: 50, maxMs: 2_000, factor: 1.5, jitter: 0.3 };
/**
 * Tries in a row that keep their urgency. Failed passes take half a minute for these, in which an API server restarts;
 * conflicts take a second.
 */
export const URGENT_TRIES = 6;

type Failure = "withBackoff" | "afterConflict";

interface Tries {
  readonly is: Failure;
  /** Failures in a row with this result. */
  readonly same: number;
  /** Failures in a row with any result. */
  readonly all: number;
}

/** Failed tries in a row, by key. Written by the pass of the same key only. */
export class Retries {
  readonly #tries = new Map<string, Tries>();

  /**
   * Records a failed try.
   * @param random from 0 (included) to 1 (excluded); it only spreads retries in time
   * @returns the pause, and the urgency that the key keeps; undefined: the urgency of its stage
   */
  note(key: string, is: Failure, urgency: Urgency, random: number): { pauseMs: number; owed: Urgency | undefined } {
    const before = this.#tries.get(key);
    const same = before?.is === is ? before.same + 1 : 1;
    const all = (before?.all ?? 0) + 1;
    this.#tries.set(key, { is, same, all });
    const backoff = is === "withBackoff" ? FAILURE_BACKOFF : CONFLICT_BACKOFF;
    return { pauseMs: delayMs(backoff, same - 1, random), owed: all < URGENT_TRIES ? urgency : undefined };
  }

  /** Resets the count: a pass has decided something. */
  forget(key: string): void {
    this.#tries.delete(key);
  }
}
