import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { deadline } from "#base/deadline.ts";
import { hasCode, type KnownObject, OperatorError } from "#base/error.ts";
import { fromRefusal, parseStatus, retryAfterMs } from "./error.ts";
import type { TokenBucket } from "./rate.ts";
import { type HttpAnswer, type HttpRequest, type Transport, TransportError } from "./transport.ts";

/**
 * When a call may be repeated, always within its deadline:
 * - `read`: after no answer, 5xx and 429.
 * - `guarded`: only when certainly nothing was sent, or on 429 with Retry-After. For calls with a uid or
 *   resourceVersion as precondition, or idempotent ones.
 * - `once`: only when certainly nothing was sent.
 * - `never`: the caller has its own retry.
 *
 * Calls of every class are repeated once after a 401, with credentials read again.
 */
export type Repeat = "read" | "guarded" | "once" | "never";

export interface Call {
  readonly verb: string;
  /** `pods`, `leases.coordination.k8s.io`; empty for paths that are no resource. */
  readonly resource: string;
  /** Start of every message, such as "get pods default/x". */
  readonly text: string;
  readonly request: Omit<HttpRequest, "signal" | "freshCredentials">;
  readonly repeat: Repeat;
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
  /** Object that the call changes, as the caller last saw it; undefined when it changes no existing object. */
  readonly known?: KnownObject | undefined;
}

/** One HTTP request that ended, for metrics. */
export interface Observation {
  readonly verb: string;
  readonly resource: string;
  /** HTTP status; or `unsent`, `broken` (sent, no answer), `timeout` (sent, no answer in time), `cancelled`. */
  readonly code: string;
  /** Duration without the wait for the rate limit and for other calls. */
  readonly durationMs: number;
}

export interface Line {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly bucket: TokenBucket;
  readonly random: () => number;
  readonly observe: (observation: Observation) => void;
  /** Whether this process leads and may write. Called right before sending; writes of the lease itself are exempt. */
  readonly mayChange: () => boolean;
}

/** Backoff between attempts of one call. Short, since a call has seconds and its caller has a slower backoff. */
const RETRY: Backoff = { firstMs: 100, maxMs: 2_000, factor: 2, jitter: 0.5 };

/** Abort reason when the call's own deadline has passed; any other reason is an abort by the caller. */
const DEADLINE = Symbol("deadline");

/**
 * Makes a call: waits for the rate limit, sends, repeats where that is safe, and passes the answer to `use`. The
 * deadline covers `use` too.
 * @throws OperatorError by the table of `fromRefusal`; KubeUnavailable without answer; Cancelled by the caller's signal
 */
export async function make<R>(line: Line, call: Call, use: Use<R>): Promise<R> {
  const bound = withDeadline(line.clock, call);
  try {
    return await attempts(line, bound.call, use);
  } finally {
    bound.release();
  }
}

/**
 * Makes a call with a stream as its answer. The deadline covers only the head; the caller's signal also ends the
 * stream. The reader must call `release` at the end of the stream.
 */
export async function open(line: Line, call: Call): Promise<{ answer: HttpAnswer; release: () => void }> {
  const bound = withDeadline(line.clock, call);
  try {
    const answer = await attempts(line, bound.call, (head) => Promise.resolve(head));
    bound.stopTimer();
    return { answer, release: bound.release };
  } catch (thrown) {
    bound.release();
    throw thrown;
  }
}

/** Reads a 2xx answer; the deadline still runs. */
type Use<R> = (answer: HttpAnswer) => Promise<R>;

function withDeadline(clock: Clock, call: Call): { call: Call; stopTimer: () => void; release: () => void } {
  const either = new AbortController();
  const cancel = (): void => either.abort(call.signal.reason);
  // A write expires at once after a freeze of the process: reading first would let the rest of its bytes be sent.
  // Lease writes carry a resourceVersion and are safe whenever they arrive.
  const { method, lane } = call.request;
  const mayHaveCome = () => method === "GET" || lane === "urgent";
  const stopTimer = deadline(clock, call.deadlineMs, () => either.abort(DEADLINE), mayHaveCome);
  call.signal.addEventListener("abort", cancel, { once: true });
  if (call.signal.aborted) cancel();
  const release = (): void => {
    stopTimer();
    call.signal.removeEventListener("abort", cancel);
  };
  return { call: { ...call, signal: either.signal }, stopTimer, release };
}

/** Progress of one call over its attempts: its waiting time, and whether the current attempt was sent. */
class Course {
  /** Retires the connections on which the current attempt waits for its answer; undefined until it was sent. */
  giveUp: (() => void) | undefined;
  readonly #clock: Clock;
  #waitedMs = 0;
  /** Start of the current wait, by monotonic clock; undefined when it does not wait. */
  #waitsSinceMs: number | undefined;
  #beganMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  get isSent(): boolean {
    return this.giveUp !== undefined;
  }

  /** Starts the wait for the rate limit and the bound on calls in flight. */
  wait(): void {
    this.#waitsSinceMs = this.#clock.monotonicMs();
  }

  /** Ends the wait; the attempt begins. */
  begin(): void {
    this.#waitedMs = this.waitedMs;
    this.#waitsSinceMs = undefined;
    this.#beganMs = this.#clock.monotonicMs();
  }

  /** Total wait over all attempts, in milliseconds. */
  get waitedMs(): number {
    const sinceMs = this.#waitsSinceMs;
    return this.#waitedMs + (sinceMs === undefined ? 0 : this.#clock.monotonicMs() - sinceMs);
  }

  /** Duration of the current attempt since its wait ended; 0 while it waits. */
  get tookMs(): number {
    return this.#waitsSinceMs === undefined ? this.#clock.monotonicMs() - this.#beganMs : 0;
  }
}

async function attempts<R>(line: Line, call: Call, use: Use<R>): Promise<R> {
  const course = new Course(line.clock);
  let fresh = false;
  let refusedBefore = false;
  let last: Failure | undefined;
  for (let attempt = 0; ; attempt++) {
    try {
      course.wait();
      await takeTurn(line, call);
      const outcome: Outcome<R> = await attemptOnce(line, call, course, fresh, use);
      if (outcome.is === "done") return outcome.result;
      course.giveUp = undefined;
      last = outcome;
      fresh = wantsFreshCredentials(outcome) && !refusedBefore;
      refusedBefore ||= fresh;
      if (!fresh) {
        if (!mayRepeat(call.repeat, outcome)) throw outcome.error;
        await line.clock.sleep(outcome.error.retryAfterMs ?? delayMs(RETRY, attempt, line.random()), call.signal);
      }
    } catch (thrown) {
      throw call.signal.aborted ? ended(call, course, last) : thrown;
    }
  }
}

async function takeTurn(line: Line, call: Call): Promise<void> {
  call.signal.throwIfAborted();
  if (call.request.lane === "urgent") line.bucket.takeHigh();
  else await line.bucket.take(call.signal);
}

interface Failure {
  readonly is: "failure";
  readonly error: OperatorError;
  /** HTTP status; 0 without answer. */
  readonly status: number;
  /** False when certainly nothing was sent. */
  readonly sent: boolean;
  readonly tls: boolean;
}
type Outcome<R> = { readonly is: "done"; readonly result: R } | Failure;

async function attemptOnce<R>(
  line: Line,
  call: Call,
  course: Course,
  fresh: boolean,
  use: Use<R>,
): Promise<Outcome<R>> {
  let code = "broken";
  try {
    const { request, signal } = call;
    const onTurn = (): void => course.begin();
    const onSending = (giveUp: () => void): void => {
      needLease(line, call);
      course.giveUp = giveUp;
    };
    const answer = await line.transport.send({ ...request, signal, freshCredentials: fresh, onTurn, onSending });
    code = String(answer.status);
    if (answer.status >= 200 && answer.status < 300) return { is: "done", result: await use(answer) };
    return await refusal(call, answer);
  } catch (thrown) {
    if (call.signal.aborted) {
      const late = course.isSent ? "timeout" : "unsent";
      code = call.signal.reason === DEADLINE ? late : "cancelled";
      throw thrown;
    }
    if (hasCode(thrown, "LeaseLost")) code = "unsent";
    if (!(thrown instanceof TransportError)) throw thrown;
    if (!thrown.sent) code = "unsent";
    const error = new OperatorError("KubeUnavailable", `${call.text}: ${thrown.message}`, { cause: thrown });
    if (thrown.isTooLong) throw error; // A repetition would return the same long answer.
    return { is: "failure", error, status: 0, sent: thrown.sent, tls: thrown.tls };
  } finally {
    const { verb, resource } = call;
    line.observe({ verb, resource, code, durationMs: course.tookMs });
  }
}

function needLease(line: Line, { request, text }: Call): void {
  if (request.method === "GET" || request.lane === "urgent" || line.mayChange()) return;
  throw new OperatorError("LeaseLost", `${text}: not sent, this process does not lead any more`);
}

async function refusal(call: Call, answer: HttpAnswer): Promise<Failure> {
  const body = await answer.text();
  const after = retryAfterMs(answer.header("retry-after"));
  const error = fromRefusal({
    call: call.text,
    httpCode: answer.status,
    status: parseStatus(body),
    text: body.slice(0, 200),
    ...(after === undefined ? {} : { retryAfterMs: after }),
    ...(call.known === undefined ? {} : { known: call.known }),
  });
  return { is: "failure", error, status: answer.status, sent: true, tls: false };
}

function mayRepeat(repeat: Repeat, { error, status, sent }: Failure): boolean {
  if (!sent) return repeat !== "never";
  switch (repeat) {
    case "read":
      return status === 0 || status === 429 || status >= 500;
    case "guarded":
      return status === 429 && error.retryAfterMs !== undefined;
    case "once":
    case "never":
      return false;
  }
}

/** Whether to read credentials again and repeat. Safe for every call: with a 401 the server has done nothing. */
function wantsFreshCredentials({ status, tls }: Failure): boolean {
  return status === 401 || tls;
}

/** The error for a call that was aborted, by its deadline or its caller. */
function ended(call: Call, course: Course, last: Failure | undefined): OperatorError {
  const before = last === undefined ? "" : `; before that: ${last.error.message}`;
  if (call.signal.reason !== DEADLINE) {
    return new OperatorError("Cancelled", `${call.text}: cancelled${before}`, { cause: call.signal.reason });
  }
  // The network path may hang, and with it the idle connections of the pool. Retire them, so that the next call does
  // not time out as well. A call that was never sent shows nothing about the path.
  course.giveUp?.();
  const what = course.isSent || last?.sent === true ? "no answer" : "not sent";
  const waitedMs = Math.round(course.waitedMs);
  const waited = waitedMs === 0 ? "" : `, of which it waited ${waitedMs} ms for its turn`;
  return new OperatorError("KubeUnavailable", `${call.text}: ${what} within ${call.deadlineMs} ms${waited}${before}`);
}
