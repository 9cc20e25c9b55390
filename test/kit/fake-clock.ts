import type { Clock } from "#base/clock.ts";
import { sleepOn } from "./sleep.ts";

/** A clock that moves only when told to. `advance` runs the timers that become due, in order. */
export class FakeClock implements Clock {
  #nowMs: number;
  #timers: { dueMs: number; run: () => void }[] = [];
  readonly #turns: number;

  /** @param turns of the event loop that are left for promises to settle between two timers; one will do where they wait for nothing but each other */
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

  /** Time passes, and nothing runs meanwhile: the process stands still. What has become due runs with the next `advance`. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }

  /** Lets every promise that can settle now do so. */
  async #settle(): Promise<void> {
    for (let turn = 0; turn < this.#turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}
