import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot } from "./cache.ts";

/** A planned step. */
export interface Planned {
  readonly title: string;
  /** Duration of its first run on two processors. Later runs use the duration that was measured on this machine. */
  readonly typicalSeconds: number;
}

/** Shortest remaining time that is shown, in milliseconds. */
const MOMENT_MS = 45_000;

/** Least expected time of finished steps from which the machine's speed is judged, in milliseconds. */
const MEANINGFUL_MS = 10_000;

/** All steps of a command: gives each its number, and the remaining time of all. */
export class Journey {
  readonly #expectedMs: ReadonlyMap<string, number>;
  readonly #measured: Durations;
  readonly #sinceMs = new Map<string, number>();
  /** Durations of the steps that have ended. */
  readonly #tookMs = new Map<string, number>();

  constructor(plan: readonly Planned[], measured: Durations) {
    this.#measured = measured;
    this.#expectedMs = new Map(
      plan.map(({ title, typicalSeconds }) => [title, measured.of(title) ?? typicalSeconds * 1000]),
    );
  }

  begin(title: string, nowMs: number): void {
    this.#sinceMs.set(title, nowMs);
  }

  end(title: string, nowMs: number): void {
    const sinceMs = this.#sinceMs.get(title);
    if (!this.#expectedMs.has(title) || sinceMs === undefined) return;
    this.#tookMs.set(title, nowMs - sinceMs);
    this.#measured.note(title, nowMs - sinceMs);
  }

  /** Number of a step, such as "step 3 of 9"; undefined for a part of a planned step. */
  place(title: string): string | undefined {
    const index = [...this.#expectedMs.keys()].indexOf(title);
    return index === -1 ? undefined : `step ${index + 1} of ${this.#expectedMs.size}`;
  }

  /** Remaining time, such as "about 6 minutes left"; undefined when it is short. */
  left(nowMs: number): string | undefined {
    const open = [...this.#expectedMs].filter(([title]) => !this.#tookMs.has(title));
    const pace = this.#pace(nowMs);
    const rests = open.map(([title, expectedMs]) => Math.max(0, expectedMs * pace - this.#elapsedMs(title, nowMs)));
    const restMs = rests.reduce((sum, rest) => sum + rest, 0);
    return restMs < MOMENT_MS ? undefined : `${about(restMs)} left`;
  }

  /**
   * Factor by which finished steps took longer than expected: a busy or slow machine stays so. Never below 1, as a
   * build may find most of its work done, and the next step may not.
   */
  #pace(nowMs: number): number {
    let expectedMs = 0;
    let tookMs = 0;
    for (const [title, expected] of this.#expectedMs) {
      const elapsedMs = this.#elapsedMs(title, nowMs);
      if (!this.#tookMs.has(title) && elapsedMs < expected) continue; // the step may still be as fast as expected
      expectedMs += expected;
      tookMs += this.#tookMs.get(title) ?? elapsedMs;
    }
    return expectedMs < MEANINGFUL_MS ? 1 : Math.max(1, tookMs / expectedMs);
  }

  #elapsedMs(title: string, nowMs: number): number {
    return nowMs - (this.#sinceMs.get(title) ?? nowMs);
  }

  /** Number of steps and expected time, such as "9 steps, about 11 minutes". */
  summary(): string {
    const ms = [...this.#expectedMs.values()].reduce((sum, each) => sum + each, 0);
    return `${this.#expectedMs.size} steps, ${about(ms)}`;
  }
}

function about(ms: number): string {
  if (ms < MOMENT_MS) return "less than a minute";
  const minutes = Math.round(ms / 60_000);
  return minutes <= 1 ? "about a minute" : `about ${minutes} minutes`;
}

/** Measured durations of steps on this machine, in milliseconds, by title. */
export interface Durations {
  of(title: string): number | undefined;
  note(title: string, ms: number): void;
}

/** Durations in a file of the cache, next to the results of the steps. */
export function durationsInCache(): Durations {
  const file = join(cacheRoot(), "durations.json");
  const known = readDurations(file);
  return {
    of: (title) => known[title],
    note: (title, ms) => {
      known[title] = Math.round(ms);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(`${file}.${process.pid}`, JSON.stringify(known, undefined, 1));
      renameSync(`${file}.${process.pid}`, file);
    },
  };
}

function readDurations(file: string): Record<string, number> {
  try {
    const read = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(read).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
    );
  } catch {
    return {}; // missing or invalid: the typical durations are used
  }
}
