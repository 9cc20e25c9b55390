import { OperatorError } from "#base/error.ts";
import type { Random } from "./random.ts";

/** Faults of the network between the operator and a server: probabilities per call, 0 to 1 each. */
export interface CallFaults {
  /** The call, or its answer, is delayed, so that other events come first. */
  readonly late: number;
  /** The call does not arrive. */
  readonly unsent: number;
  /** The call takes effect and its answer is lost. */
  readonly lostReply: number;
  /** The server answers "too many requests". */
  readonly throttled: number;
}

export const NO_CALL_FAULTS: CallFaults = { late: 0, unsent: 0, lostReply: 0, throttled: 0 };

/** One call of the operator. */
export interface CallPlan<T> {
  /** For the trace, such as "replace etcdclusters foo/db". */
  readonly text: string;
  readonly changes: boolean;
  readonly run: () => T;
  /** The error for a call without an answer. */
  readonly unavailable: (why: string) => OperatorError;
}

interface Pending {
  /** When the caller gives up, in simulated time. */
  readonly deadlineMs: number;
  readonly text: string;
  readonly changes: boolean;
  hasArrived: boolean;
  /** Takes effect at the server. */
  readonly arrive: () => void;
  /** Gives the answer to the caller. */
  readonly answer: () => void;
  /** Ends the call for its caller: no answer came in time. */
  readonly giveUp: () => void;
}

/**
 * About the deadline of the operator's calls, in milliseconds: src/kube/call.ts, and MEMBERSHIP_DEADLINE_MS in
 * src/cluster/act.ts.
 */
const DEADLINE_MS = 5_000;

/** More calls than one pass over every key makes. */
const MOST_AT_ONCE = 100;

/** The calls in flight. The random generator decides whether and when each arrives. */
export class Calls {
  faults: CallFaults = NO_CALL_FAULTS;
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #tell: (text: string) => void;
  #pending: Pending[] = [];
  /** Changes after their callers have given up: each arrives later or never. */
  #strays: Pick<Pending, "text" | "arrive">[] = [];
  #atOnce = 0;

  constructor(random: Random, nowMs: () => number, tell: (text: string) => void) {
    this.#random = random;
    this.#nowMs = nowMs;
    this.#tell = tell;
  }

  get underWay(): number {
    return this.#pending.length;
  }

  send<T>(plan: CallPlan<T>): Promise<T> {
    const { faults } = this;
    if (this.#random.chance(faults.unsent)) return this.#fail(plan, plan.unavailable("connection refused"));
    if (this.#random.chance(faults.throttled) && plan.changes)
      return this.#fail(plan, new OperatorError("KubeThrottled", `${plan.text}: too many requests`));
    const isLost = this.#random.chance(faults.lostReply);
    if (!this.#random.chance(faults.late) && this.#isQuick()) return settled(this.#execute(plan, isLost));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let result: Result<T> | undefined;
    this.#pending.push({
      deadlineMs: this.#nowMs() + DEADLINE_MS,
      text: plan.text,
      changes: plan.changes,
      hasArrived: false,
      arrive: () => {
        result = this.#execute(plan, isLost);
      },
      answer: () => {
        if (result === undefined || "error" in result) reject(result?.error);
        else resolve(result.value);
      },
      giveUp: () => reject(plan.unavailable("no answer within the deadline")),
    });
    return promise;
  }

  /** Calls take time: after too many quick calls in a row, the next one waits until the simulation has moved on. */
  #isQuick(): boolean {
    this.#atOnce += 1;
    return this.#atOnce < MOST_AT_ONCE;
  }

  /** Ends the calls after their deadline, and permits quick calls again. */
  breathe(): void {
    this.#atOnce = 0;
    const late = this.#pending.filter(({ deadlineMs }) => deadlineMs <= this.#nowMs());
    this.#pending = this.#pending.filter((call) => !late.includes(call));
    for (const call of late) {
      this.#tell(`  no answer in time: ${call.text}`);
      if (!call.hasArrived && call.changes && this.#random.chance(0.5)) this.#strays.push(call);
      call.giveUp();
    }
  }

  #landStray(): boolean {
    const stray = this.#random.pick(this.#strays);
    if (stray === undefined) return false;
    this.#strays = this.#strays.filter((other) => other !== stray);
    this.#tell(`  arrives after its caller gave up: ${stray.text}`);
    stray.arrive();
    return true;
  }

  /** One call moves on: it arrives, or its answer does. */
  step(): boolean {
    if (this.#random.chance(0.3) && this.#landStray()) return true;
    const call = this.#random.pick(this.#pending);
    if (call === undefined) return this.#landStray();
    this.#go(call, this.#random.chance(0.5));
    return true;
  }

  /** All calls arrive and are answered, in the order in which they were sent. */
  finish(): boolean {
    const some = this.#pending.length + this.#strays.length > 0;
    while (this.#landStray());
    for (const call of [...this.#pending]) this.#go(call, true);
    return some;
  }

  /**
   * The calling process is dead. A change in flight may still arrive, but only now: deadlines of calls are far shorter
   * than the lease. So none arrives when another process is already leading.
   */
  abandon(): void {
    const unarrived = this.#pending.filter(({ hasArrived, changes }) => !hasArrived && changes);
    for (const call of [...this.#strays, ...unarrived]) {
      if (this.#random.chance(0.5)) continue;
      this.#tell(`  arrives after its sender died: ${call.text}`);
      call.arrive();
    }
    this.#pending = [];
    this.#strays = [];
  }

  #go(call: Pending, alsoAnswer: boolean): void {
    if (!call.hasArrived) {
      call.hasArrived = true;
      call.arrive();
      if (!alsoAnswer) return;
    }
    this.#pending = this.#pending.filter((other) => other !== call);
    call.answer();
  }

  #execute<T>(plan: CallPlan<T>, isLost: boolean): Result<T> {
    const result = attempt(plan.run);
    if (isLost) this.#tell(`  reply lost: ${plan.text}`);
    return isLost ? { error: plan.unavailable("the reply was lost") } : result;
  }

  #fail<T>(plan: CallPlan<T>, error: OperatorError): Promise<T> {
    this.#tell(`  fails: ${plan.text} (${error.code})`);
    return Promise.reject(error);
  }
}

type Result<T> = { readonly value: T } | { readonly error: unknown };

function attempt<T>(run: () => T): Result<T> {
  try {
    return { value: run() };
  } catch (error) {
    return { error };
  }
}

function settled<T>(result: Result<T>): Promise<T> {
  return "error" in result ? Promise.reject(result.error) : Promise.resolve(result.value);
}
