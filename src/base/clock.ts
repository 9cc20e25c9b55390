import { setTimeout as sleepTimer } from "node:timers/promises";

/** The only source of time and timers; tests use test/kit/time/fake-clock.ts. */
export interface Clock {
  /** Milliseconds since 1970 (UTC), for time stamps that users or other machines read. May jump. */
  wallMs(): number;
  /**
   * Milliseconds from an arbitrary start that never jump back, for durations and deadlines. Continues while the process
   * is frozen.
   */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; the returned function cancels. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  // performance.now() is CLOCK_MONOTONIC on Linux: it continues while the process is stopped by a signal.
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    await sleepTimer(ms, undefined, signal === undefined ? {} : { signal });
  },
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
