import type { Clock } from "#base/clock.ts";

/** Aborts after a time without progress: a peer that hangs accepts the connection and sends nothing. */
export class Watchdog {
  /** The side that is awaited at the moment. */
  waitsFor: "source" | "store" = "store";
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #patienceMs: number;
  #movedAtMs: number;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, patienceMs: number) {
    this.signal = this.#controller.signal;
    this.#clock = clock;
    this.#patienceMs = patienceMs;
    this.#movedAtMs = clock.monotonicMs();
    this.#lookAfter(patienceMs);
  }

  moved(): void {
    this.#movedAtMs = this.#clock.monotonicMs();
  }

  stop(): void {
    this.#cancel();
  }

  #lookAfter(ms: number): void {
    this.#cancel = this.#clock.after(ms, () => {
      const leftMs = this.#movedAtMs + this.#patienceMs - this.#clock.monotonicMs();
      if (leftMs > 0) this.#lookAfter(leftMs);
      else this.#controller.abort();
    });
  }
}
