import { type Backoff, delayMs } from "#base/backoff.ts";
import { type Clock, systemClock } from "#base/clock.ts";
import { isWorthAnotherTry, StoreError } from "./error.ts";

// How long we wait for a store, the same for all of them. The libraries' own attempts are switched off: none of them ends one
// that hangs and makes another.

/** All times in milliseconds. */
export interface Patience {
  /** For a connection. A server that is there takes one at once; beyond this, a packet was lost twice. */
  readonly connectMs: number;
  /** For the answer to a small request, from its start. */
  readonly answerMs: number;
  /** For the store to put an object of many parts together, which some do by copying it. */
  readonly commitMs: number;
  /** For the next bytes of an object that is read. */
  readonly idleMs: number;
  /** What a part may take beyond `answerMs`: below this rate a link is useless, a gigabyte would take five hours. */
  readonly slowestBytesPerSecond: number;
  /** How often one request is made before we give it up, the first time included. */
  readonly attempts: number;
  /** How long one request is made again: without it, attempts that hang would add up to an hour. */
  readonly giveUpMs: number;
  readonly backoff: Backoff;
  /** For what is done after a failure or an abort, so that nothing is left: it must not take long. */
  readonly cleanUpMs: number;
}

export const PATIENCE: Patience = {
  connectMs: 10_000,
  answerMs: 60_000,
  commitMs: 5 * 60_000,
  idleMs: 60_000,
  slowestBytesPerSecond: 64 * 1024,
  attempts: 5,
  giveUpMs: 5 * 60_000,
  // Stores that are busy ask for seconds, not for minutes: at most 1 + 2 + 4 + 8 s of pauses, half of which is random.
  backoff: { firstMs: 1000, maxMs: 10_000, factor: 2, jitter: 0.5 },
  cleanUpMs: 30_000,
};

/** One attempt that ends with `signal`. */
export type Attempt<T> = (signal: AbortSignal) => Promise<T>;

/** Makes requests to one store: each attempt has a deadline, and what fails for the moment is attempted again. */
export class Requests {
  readonly patience: Patience;
  readonly #translate: (thrown: unknown, what: string) => StoreError;
  readonly #clock: Clock;

  /** @param translate makes a StoreError of whatever the store's library throws; `what` is what was done, for people */
  constructor(
    patience: Patience,
    translate: (thrown: unknown, what: string) => StoreError,
    clock: Clock = systemClock,
  ) {
    this.patience = patience;
    this.#translate = translate;
    this.#clock = clock;
  }

  /**
   * @param deadlineMs of one attempt
   * @throws StoreError
   */
  async make<T>(what: string, deadlineMs: number, signal: AbortSignal, attempt: Attempt<T>): Promise<T> {
    const sinceMs = this.#clock.monotonicMs();
    for (let n = 1; ; n++) {
      try {
        return await this.once(what, deadlineMs, signal, attempt);
      } catch (thrown) {
        const error = this.#translate(thrown, what);
        const isLast = n >= this.patience.attempts || this.#clock.monotonicMs() - sinceMs >= this.patience.giveUpMs;
        if (isLast || !isWorthAnotherTry(error.reason)) throw error;
      }
      await this.pause(n - 1, what, signal);
    }
  }

  /** Waits before attempt number `attempt` (0 is the first that is made again). @throws StoreError `Aborted` */
  async pause(attempt: number, what: string, signal: AbortSignal): Promise<void> {
    const pauseMs = delayMs(this.patience.backoff, attempt, Math.random());
    await this.#clock.sleep(pauseMs, signal).catch(() => {
      throw aborted(what);
    });
  }

  /**
   * A single attempt. It ends in time also when the library does not listen to the signal.
   * @throws StoreError
   */
  async once<T>(what: string, deadlineMs: number, signal: AbortSignal, attempt: Attempt<T>): Promise<T> {
    if (signal.aborted) throw aborted(what);
    const own = new AbortController();
    const ended = Promise.withResolvers<never>();
    const end = (error: StoreError) => {
      ended.reject(error);
      own.abort(error);
    };
    const onAbort = () => end(aborted(what));
    signal.addEventListener("abort", onAbort);
    const cancel = this.#clock.after(deadlineMs, () => {
      end(new StoreError("Timeout", `${what}: the store did not answer within ${deadlineMs / 1000} s`));
    });
    const work = attempt(own.signal);
    work.catch(() => {}); // When it lost the race, the error of the winner is what is thrown.
    try {
      return await Promise.race([work, ended.promise]);
    } catch (thrown) {
      throw own.signal.aborted ? own.signal.reason : this.#translate(thrown, what);
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
      ended.promise.catch(() => {});
    }
  }
}

export function aborted(what: string): StoreError {
  return new StoreError("Aborted", `${what}: it was called off`);
}

/** Deadline of a request that carries so many bytes. */
export function sendMs(patience: Patience, bytes: number): number {
  return patience.answerMs + (bytes / patience.slowestBytesPerSecond) * 1000;
}
