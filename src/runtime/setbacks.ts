import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { type Key, keyText, type Outcome } from "#runtime/controller.ts";
import type { Rest } from "#runtime/decide.ts";

// Which steps are left alone for a while?
//   A step rests when it was refused, by a quota, a policy or a right that is missing. It rests when it was made and is wanted
//   again at once, as when a webhook undoes what we write; the first repetition is free, since people change things too. And it rests
//   when etcd has put it off.
// And when the operator itself has changed its mind in between?
//   Then nobody undoes anything: the budget of a cluster that is being restarted says 3, 2, 3, 2 from turn to turn. A step counts anew
//   once the same rule has done something else to the same object.
//   The pause grows from try to try. What is remembered is a cache: a process that starts tries everything at once.

/** Pauses for a step that is refused: from half a second to a minute. */
const REFUSED: Backoff = { firstMs: 500, maxMs: 60_000, factor: 2, jitter: 0.3 };
/** Pauses for a step that has no effect; each try costs the API server a write and a watch event. */
const UNDONE: Backoff = { firstMs: 1_000, maxMs: 300_000, factor: 2, jitter: 0.3 };
/** etcd says "not now" during an election or while a learner catches up: both pass in moments as a rule. */
const PUT_OFF: Backoff = { firstMs: 50, maxMs: 30_000, factor: 1.5, jitter: 0.3 };
/** A step that was put off so often in a row, which takes about ten seconds, counts as refused. */
const PUT_OFF_IN_A_ROW = 12;
/** A conflict says that the world moved on. So many in a row count as a refusal. */
const CONFLICTS_IN_A_ROW = 10;
/** So long after its last pause a setback is forgotten, in milliseconds: a step that is wanted later has another cause. */
const FORGET_MS = 60_000;

interface Setback {
  /** How the last try ended. */
  readonly is: Outcome["is"];
  /** Tries in a row that ended so. */
  readonly tries: number;
  /** When the first of these tries, or conflicts, ended. */
  readonly sinceMs: number;
  /** Conflicts in a row since then. */
  readonly conflicts: number;
  readonly untilMs: number;
  /** What came back; undefined: nothing was wrong with it. */
  readonly why: string | undefined;
  readonly code: string | undefined;
  readonly isBrief: boolean;
}

/** Steps that were tried and did not help, by key and step. Written by the pass of the same key only. */
export class Setbacks {
  readonly #clock: Clock;
  /** Gives numbers from 0 (included) to 1 (excluded), which only spread retries in time. */
  readonly #random: () => number;
  /** Those whose last try is the longest ago come first. */
  readonly #known = new Map<string, Map<string, Setback>>();

  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Why the step is left alone for now; `undefined` when it may be tried.
   * @param step the rule, what it does, to whom, and what else the wish is, with spaces between them
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

  /** Notes how a try ended. */
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

  /** Of how many keys something is remembered. */
  get keys(): number {
    return this.#known.size;
  }

  /** Forgets what nobody will ask for any more. It takes next to no time, and is called with each look: of a thousand new clusters it is some megabytes. */
  sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [text, steps] of this.#known) {
      if (steps.values().some((setback) => isRemembered(setback, nowMs))) return;
      this.#known.delete(text);
    }
  }

  /** Forgets the steps of an object that is gone. */
  forget(key: Key): void {
    this.#known.delete(keyText(key));
  }

  #setback(before: Setback | undefined, outcome: Exclude<Outcome, { is: "notTried" }>, atMs: number): Setback {
    const pause = (backoff: Backoff, attempt: number) => atMs + delayMs(backoff, attempt, this.#random());
    if (outcome.is === "conflict") {
      // It says nothing about the tries before it: what is undone by a second writer ends in a conflict now and then.
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
          isBrief: tries < PUT_OFF_IN_A_ROW,
          untilMs: pause(PUT_OFF, tries - 1),
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

/** What the same rule has done to the same object before, and in another way, was undone by nobody but by this step. */
function forgetOtherWishes(steps: Map<string, Setback>, step: string): void {
  const about = aboutOf(step);
  for (const [other, { is }] of steps)
    if (other !== step && is === "done" && aboutOf(other) === about) steps.delete(other);
}

/** The rule, what it does, and to whom. */
function aboutOf(step: string): string {
  return step.split(" ", 3).join(" ");
}
