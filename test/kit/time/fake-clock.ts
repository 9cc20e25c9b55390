import type { Clock } from "#base/clock.ts";
import { sleepOn } from "#kit/time/sleep.ts";

/** A clock that moves only when a test moves it. `advance` runs the timers that become due, in order. */
export class FakeClock implements Clock {
  #nowMs: number;
  #timers: { dueMs: number; run: () => void }[] = [];
  readonly #turns: number;

  /**
   * @param turns of the event loop between two timers, in which promises settle; one suffices if they wait only for
   * each other
   */
  constructor(startMs = Date.UTC(2026, 0, 1), turns = 10) {
    this.#nowMs = startMs;
    this.#turns = turns;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  after(ms: number, run: () => void): () => void {
    const timer = { dueMs: this.#nowMs + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.length;
  }

  /** Moves time forward; lets promises settle between timers. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await this.#settle();
      const next = this.#timers.filter((timer) => timer.dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.run();
    }
    this.#nowMs = endMs;
    await this.#settle();
  }

  /**
   * Moves time without running any timer, as if the process were frozen. Timers that became due run at the next
   * `advance`.
   */
  stall(ms: number): void {
    this.#nowMs += ms;
  }

  /** Lets every promise settle that can settle now. */
  async #settle(): Promise<void> {
    for (let turn = 0; turn < this.#turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}
