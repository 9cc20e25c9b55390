import { OperatorError } from "#base/error.ts";
import type { Random } from "./world-random.ts";

/** How often the network between the operator and a server plays a trick, per call; 0 to 1 each. */
export interface CallFaults {
  /** Something else may happen before the call arrives, and again before its answer does. */
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
  /** For the trace: "replace etcdclusters foo/db". */
  readonly text: string;
  readonly changes: boolean;
  readonly run: () => T;
  /** What the caller gets when no answer comes. */
  readonly unavailable: (why: string) => OperatorError;
}

interface Pending {
  /** When its caller gives up, in world time. */
  readonly deadlineMs: number;
  readonly text: string;
  readonly changes: boolean;
  hasArrived: boolean;
  /** The effect, at the server. */
  readonly arrive: () => void;
  /** The answer, to the caller. */
  readonly answer: () => void;
  /** To the caller: no answer came in time. */
  readonly giveUp: () => void;
}

/** About what the operator's calls have, in milliseconds: src/kube/call.ts, and MEMBERSHIP_DEADLINE_MS in src/cluster/act.ts. */
const DEADLINE_MS = 5_000;

/** More than a pass of every key of a history makes. */
const MOST_AT_ONCE = 100;

/** The calls that are under way. Whether and when each arrives is the world's choice. */
export class Calls {
  faults: CallFaults = NO_CALL_FAULTS;
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #tell: (text: string) => void;
  #pending: Pending[] = [];
  /** Changes whose callers have given up: each arrives later, or never. */
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

  /** Calls take time: who makes too many in a row has to wait until the world has moved on. */
  #isQuick(): boolean {
    this.#atOnce += 1;
    return this.#atOnce < MOST_AT_ONCE;
  }

  /** The world has moved on, and some callers wait no longer. */
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

  /** One of the calls goes on: it arrives, or its answer does. */
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
   * The caller is dead. A change that was on its way may still arrive, now: calls have deadlines far shorter than the lease,
   * so none arrives when another process acts already.
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
