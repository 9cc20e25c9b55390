import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { type Key, keyText, type Outcome } from "#runtime/controller.ts";
import type { Rest } from "#runtime/decide.ts";

// Which steps are deferred?
// - A step that was rejected, by a quota, a policy or a missing right.
// - A step that succeeded and is wanted again at once, as when a webhook reverts the write. The first repetition is
//   free, since users change things too.
// - A step that etcd asked to retry later.
// What if the operator itself wanted something else in between?
//   Then nothing was reverted: the disruption budget of a restarting cluster alternates between 3 and 2. The count
//   starts again once the same rule has made a different change to the same object.
// The pause grows with each try. All this is a cache: a restarted process tries everything at once.

/** Pauses for a rejected step: from half a second to a minute. */
const REFUSED: Backoff = { firstMs: 500, maxMs: 60_000, factor: 2, jitter: 0.3 };
/** Pauses for a step that has no effect; each try costs the API server a write and a watch event. */
const UNDONE: Backoff = { firstMs: 1_000, maxMs: 300_000, factor: 2, jitter: 0.3 };
/** Pauses while etcd elects a leader or a learner catches up: both pass within moments as a rule. */
const DELAYED: Backoff = { firstMs: 50, maxMs: 30_000, factor: 1.5, jitter: 0.3 };
/** So many retries at etcd's request, which take about ten seconds, count as a rejection. */
const DELAYED_IN_A_ROW = 12;
/** So many conflicts in a row count as a rejection. A single one only means that the object has changed. */
const CONFLICTS_IN_A_ROW = 10;
/**
 * A setback is forgotten this long after its last pause, in milliseconds: if the step is wanted later, it has another
 * cause.
 */
const FORGET_MS = 60_000;

interface Setback {
  /** How the last try ended. */
  readonly is: Outcome["is"];
  /** Tries in a row with this result. */
  readonly tries: number;
  /** When the first of these tries, or conflicts, ended. */
  readonly sinceMs: number;
  /** Conflicts in a row since then. */
  readonly conflicts: number;
  readonly untilMs: number;
  /** The error; undefined: the step succeeded. */
  readonly why: string | undefined;
  readonly code: string | undefined;
  readonly isBrief: boolean;
}

/** Steps that failed or had no effect, by key and step. Written by the pass of the same key only. */
export class Setbacks {
  readonly #clock: Clock;
  /** Returns numbers from 0 (included) to 1 (excluded), which only spread retries in time. */
  readonly #random: () => number;
  /** Ordered by the last try, the oldest first. */
  readonly #known = new Map<string, Map<string, Setback>>();

  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Why the step must not be retried yet; `undefined` when it may be.
   * @param step the rule, the verb, the object and the rest of the change, separated by spaces
   */
  resting(key: Key, step: string): Rest | undefined {
    const setback = this.#known.get(keyText(key))?.get(step);
    if (setback === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    const forMs = setback.untilMs - nowMs;
    if (forMs <= 0) return undefined;
    const { tries, code, isBrief, sinceMs } = setback;
    const because = setback.why ?? `done ${tries} times and wanted again: something undoes it`;
    return { because, forMs, triedForMs: nowMs - sinceMs, isBrief, ...(code === undefined ? {} : { code }) };
  }

  /** Records how a try ended. */
  note(key: Key, step: string, outcome: Outcome): void {
    if (outcome.is === "notTried") return;
    const nowMs = this.#clock.monotonicMs();
    const text = keyText(key);
    const steps = new Map([...(this.#known.get(text) ?? [])].filter(([, setback]) => isRemembered(setback, nowMs)));
    if (outcome.is === "done") forgetOtherWishes(steps, step);
    steps.set(step, this.#setback(steps.get(step), outcome, nowMs));
    this.#known.delete(text);
    this.#known.set(text, steps);
  }

  /** How many keys have recorded setbacks. */
  get keys(): number {
    return this.#known.size;
  }

  /**
   * Removes expired entries. Costs almost nothing, so each pass calls it: a thousand new clusters leave some megabytes
   * otherwise.
   */
  sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [text, steps] of this.#known) {
      if (steps.values().some((setback) => isRemembered(setback, nowMs))) return;
      this.#known.delete(text);
    }
  }

  /** Forgets the steps of a deleted object. */
  forget(key: Key): void {
    this.#known.delete(keyText(key));
  }

  #setback(before: Setback | undefined, outcome: Exclude<Outcome, { is: "notTried" }>, atMs: number): Setback {
    const pause = (backoff: Backoff, attempt: number) => atMs + delayMs(backoff, attempt, this.#random());
    if (outcome.is === "conflict") {
      // A conflict does not reset the count of the tries before it. A step that a second writer reverts ends in a
      // conflict now and then.
      const conflicts = (before?.conflicts ?? 0) + 1;
      const isRefusal = conflicts >= CONFLICTS_IN_A_ROW;
      const untilMs = isRefusal ? pause(REFUSED, conflicts - CONFLICTS_IN_A_ROW) : atMs;
      const { is, tries, sinceMs } = before ?? { is: outcome.is, tries: 0, sinceMs: atMs };
      return { is, tries, sinceMs, conflicts, untilMs, why: outcome.why, code: undefined, isBrief: !isRefusal };
    }
    const { is } = outcome;
    const same = before?.is === is ? before : { tries: 0, sinceMs: atMs };
    const tries = same.tries + 1;
    const setback = { is, tries, sinceMs: same.sinceMs, conflicts: 0, code: undefined, isBrief: false };
    switch (outcome.is) {
      case "done":
        return { ...setback, untilMs: tries === 1 ? atMs : pause(UNDONE, tries - 2), why: undefined };
      case "notNow":
        return {
          ...setback,
          isBrief: tries < DELAYED_IN_A_ROW,
          untilMs: pause(DELAYED, tries - 1),
          why: outcome.why,
        };
      case "failed":
        return { ...setback, code: outcome.code, untilMs: pause(REFUSED, tries - 1), why: outcome.why };
    }
  }
}

function isRemembered({ untilMs }: Setback, nowMs: number): boolean {
  return nowMs - untilMs < FORGET_MS;
}

/**
 * Drops earlier changes of the same rule to the same object: this step replaced them, so nothing else has reverted
 * them.
 */
function forgetOtherWishes(steps: Map<string, Setback>, step: string): void {
  const about = aboutOf(step);
  for (const [other, { is }] of steps)
    if (other !== step && is === "done" && aboutOf(other) === about) steps.delete(other);
}

/** The rule, the verb and the object. */
function aboutOf(step: string): string {
  return step.split(" ", 3).join(" ");
}
