import type { Clock } from "#base/clock.ts";
import { sleepOn } from "#kit/time/sleep.ts";

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** The time of a simulated world. It passes only when a test moves it. A process that dies takes its timers with it. */
export class WorldTime {
  nowMs = Date.UTC(2026, 0, 1);
  /** How far the clock of the operator's node is ahead of the true time; negative when behind. */
  skewMs = 0;
  readonly #clocks = new Set<ProcessClock>();

  /** The clock of a new process. */
  clock(): ProcessClock {
    const clock = new ProcessClock(this, () => this.#clocks.delete(clock));
    this.#clocks.add(clock);
    return clock;
  }

  /** When the next timer of any process fires; `undefined` when none is set. */
  nextDueMs(): number | undefined {
    let next: number | undefined;
    for (const clock of this.#clocks) {
      const due = clock.next()?.dueMs;
      if (due !== undefined && (next === undefined || due < next)) next = due;
    }
    return next;
  }

  /** Moves to the next timer that fires until `endMs` and runs it. Without one, moves to `endMs` and returns false. */
  runNext(endMs: number): boolean {
    const due = this.nextDueMs();
    if (due === undefined || due > endMs) {
      this.nowMs = Math.max(this.nowMs, endMs);
      return false;
    }
    this.nowMs = Math.max(this.nowMs, due);
    for (const clock of this.#clocks) clock.runDue(this.nowMs);
    return true;
  }
}

/** The clock of one simulated process. */
export class ProcessClock implements Clock {
  readonly #time: WorldTime;
  readonly #forget: () => void;
  readonly #timers = new Set<Timer>();

  constructor(time: WorldTime, forget: () => void) {
    this.#time = time;
    this.#forget = forget;
  }

  wallMs(): number {
    return this.#time.nowMs + this.#time.skewMs;
  }

  monotonicMs(): number {
    return this.#time.nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  after(ms: number, run: () => void): () => void {
    const timer = { dueMs: this.#time.nowMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  next(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (next === undefined || timer.dueMs < next.dueMs) next = timer;
    return next;
  }

  runDue(nowMs: number): void {
    const due = [...this.#timers].filter((timer) => timer.dueMs <= nowMs).sort((a, b) => a.dueMs - b.dueMs);
    for (const timer of due) if (this.#timers.delete(timer)) timer.run();
  }

  /** The process is dead: its timers never fire. */
  stop(): void {
    this.#timers.clear();
    this.#forget();
  }
}
