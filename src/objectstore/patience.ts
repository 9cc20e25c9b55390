import { type Backoff, delayMs } from "#base/backoff.ts";
import { type Clock, systemClock } from "#base/clock.ts";
import { isWorthAnotherTry, StoreError } from "./error.ts";

// Time limits and retries, the same for all stores. The libraries' own retries are disabled: none of them ends a
// request that hangs and tries again.

/** Times in milliseconds. */
export interface Patience {
  /** To connect. A running server accepts at once; after this, a packet was lost twice. */
  readonly connectMs: number;
  /** To answer a small request, from its start. */
  readonly answerMs: number;
  /** To assemble an object of many parts, which some stores do by copying. */
  readonly commitMs: number;
  /** To send the next bytes of an object. */
  readonly idleMs: number;
  /** Slowest rate for a part beyond `answerMs`: below it a gigabyte would take five hours. */
  readonly slowestBytesPerSecond: number;
  /** Attempts of one request to a store that has never answered: its endpoint may be wrong. */
  readonly attempts: number;
  /** Time without progress after which no further attempt begins. The second attempt always begins. */
  readonly giveUpMs: number;
  readonly backoff: Backoff;
  /** To clean up after a failure or an abort. */
  readonly cleanUpMs: number;
}

export const PATIENCE: Patience = {
  connectMs: 10_000,
  answerMs: 60_000,
  commitMs: 5 * 60_000,
  idleMs: 60_000,
  slowestBytesPerSecond: 64 * 1024,
  attempts: 5,
  // Three minutes. If smaller, an outage of a minute or two ends a backup. If larger, the agent's limit of five minutes
  // without progress would end the task before the store's own error is reported.
  giveUpMs: 3 * 60_000,
  // Busy stores ask for pauses of seconds: 1, 2, 4, 8, 10, 10 s and so on, half of it random.
  backoff: { firstMs: 1000, maxMs: 10_000, factor: 2, jitter: 0.5 },
  cleanUpMs: 30_000,
};

/** One attempt, which must end when `signal` aborts. */
export type Attempt<T> = (signal: AbortSignal) => Promise<T>;

/** Sends requests to one store: each attempt has a deadline, and temporary failures are retried. */
export class Requests {
  readonly patience: Patience;
  readonly #translate: (thrown: unknown, what: string) => StoreError;
  readonly #clock: Clock;
  /** Whether the store has ever answered, even with an error that is not worth another attempt. */
  #hasAnswered = false;

  /** @param translate converts an error of the store's library into a StoreError; `what` names the operation */
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
   * @param deadlineMs time limit of one attempt
   * @throws StoreError
   */
  async make<T>(what: string, deadlineMs: number, signal: AbortSignal, attempt: Attempt<T>): Promise<T> {
    const sinceMs = this.nowMs();
    for (let n = 1; ; n++) {
      try {
        const answer = await this.once(what, deadlineMs, signal, attempt);
        this.#hasAnswered = true;
        return answer;
      } catch (thrown) {
        const error = this.#translate(thrown, what);
        if (!isWorthAnotherTry(error)) {
          this.#hasAnswered ||= error.reason !== "Aborted";
          throw error;
        }
        if (!this.#hasAnswered && n >= this.patience.attempts) throw error;
        // Every request gets a second attempt: the first one may hang, and one large part may take longer than giveUpMs.
        if (n > 1 && this.isGivenUp(sinceMs)) throw error;
      }
      await this.pause(n - 1, what, signal);
    }
  }

  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /** Whether work that has made no progress since this time of `nowMs` gets no further attempt. */
  isGivenUp(sinceMs: number): boolean {
    return this.nowMs() - sinceMs >= this.patience.giveUpMs;
  }

  /** Waits before retry number `attempt`, from 0. @throws StoreError `Aborted` */
  async pause(attempt: number, what: string, signal: AbortSignal): Promise<void> {
    const pauseMs = delayMs(this.patience.backoff, attempt, Math.random());
    await this.#clock.sleep(pauseMs, signal).catch(() => {
      throw aborted(what);
    });
  }

  /**
   * A single attempt. It ends in time even if the library ignores the signal.
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
    // An attempt that throws at once cancels the deadline too.
    const work = (async () => await attempt(own.signal))();
    work.catch(() => {}); // When it loses the race, the winner's error is thrown.
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
  return new StoreError("Aborted", `${what}: it was aborted`);
}

/** Deadline of a request with this many bytes. */
export function sendMs(patience: Patience, bytes: number): number {
  return patience.answerMs + (bytes / patience.slowestBytesPerSecond) * 1000;
}
