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
 * - `guarded`: only when certainly nothing was sent, or the server said 429 with Retry-After. The call carries a uid or
 *   resourceVersion, or is idempotent.
 * - `once`: only when certainly nothing was sent.
 * - `never`: who called has a better idea; except for a 401, as for all.
 */
export type Repeat = "read" | "guarded" | "once" | "never";

export interface Call {
  readonly verb: string;
  /** `pods`, `leases.coordination.k8s.io`; empty for paths that are no resource. */
  readonly resource: string;
  /** "get pods default/x": the start of every message. */
  readonly text: string;
  readonly request: Omit<HttpRequest, "signal" | "freshCredentials">;
  readonly repeat: Repeat;
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
  /** What it changes, as the caller knows it; undefined when it changes nothing that is there. */
  readonly known?: KnownObject | undefined;
}

/** One HTTP request that ended, for metrics. */
export interface Observation {
  readonly verb: string;
  readonly resource: string;
  /** HTTP status in digits; or `unsent`, `broken` (sent, no answer), `timeout` (sent, no answer in time), `cancelled`. */
  readonly code: string;
  /** Without the time that it has waited for others. */
  readonly durationMs: number;
}

export interface Line {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly bucket: TokenBucket;
  readonly random: () => number;
  readonly observe: (observation: Observation) => void;
  /** Whether this process may change anything at this moment; asked as late as can be. The lease itself is excepted. */
  readonly mayChange: () => boolean;
}

/** Pauses between two attempts of one call. They are short: a call has seconds, and its caller has a slower back-off of its own. */
const RETRY: Backoff = { firstMs: 100, maxMs: 2_000, factor: 2, jitter: 0.5 };

/** This reason tells an abort by our own deadline from one by the caller. */
const DEADLINE = Symbol("deadline");

/**
 * Makes a call: waits for the rate limit, sends, repeats where that is safe, and hands the answer to `use` while the
 * deadline still runs.
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
 * Makes a call whose answer is a stream: the deadline ends with the head, the caller's signal goes on to end the stream.
 * Who reads the stream calls `release` at its end.
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

/** What is done with a good answer while the deadline still runs. */
type Use<R> = (answer: HttpAnswer) => Promise<R>;

function withDeadline(clock: Clock, call: Call): { call: Call; stopTimer: () => void; release: () => void } {
  const either = new AbortController();
  const cancel = (): void => either.abort(call.signal.reason);
  // What would be left of a change is not to leave after a freeze. The lease's own writes say what they follow on, whenever they come.
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

/** How a call has come along. */
class Course {
  /** How to give up the connections over which an answer is waited for; undefined unless the attempt that is under way has gone out. */
  giveUp: (() => void) | undefined;
  readonly #clock: Clock;
  #waitedMs = 0;
  /** When it began to wait for its turn, while it does. */
  #waitsSinceMs: number | undefined;
  #beganMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  get isSent(): boolean {
    return this.giveUp !== undefined;
  }

  /** It waits for its turn: for the rate limit, and for the calls in flight. */
  wait(): void {
    this.#waitsSinceMs = this.#clock.monotonicMs();
  }

  /** It is its turn. */
  begin(): void {
    this.#waitedMs = this.waitedMs;
    this.#waitsSinceMs = undefined;
    this.#beganMs = this.#clock.monotonicMs();
  }

  /** How long it has waited for its turn, over all attempts. */
  get waitedMs(): number {
    const sinceMs = this.#waitsSinceMs;
    return this.#waitedMs + (sinceMs === undefined ? 0 : this.#clock.monotonicMs() - sinceMs);
  }

  /** How long the last attempt has taken, since its turn. */
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
    if (thrown.isTooLong) throw error; // It would be as long once more.
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

/** A 401 is refused before anything is done, so every call may be repeated once with credentials read anew. */
function wantsFreshCredentials({ status, tls }: Failure): boolean {
  return status === 401 || tls;
}

/** The error for a call that was aborted, by its deadline or its caller. */
function ended(call: Call, course: Course, last: Failure | undefined): OperatorError {
  const before = last === undefined ? "" : `; before that: ${last.error.message}`;
  if (call.signal.reason !== DEADLINE) {
    return new OperatorError("Cancelled", `${call.text}: cancelled${before}`, { cause: call.signal.reason });
  }
  // The link may be frozen, and with it the idle connections of the pool: the next call shall not find that out the same slow way. Of a call that
  // has not gone out nothing is known of the link.
  course.giveUp?.();
  const what = course.isSent || last?.sent === true ? "no answer" : "not sent";
  const waitedMs = Math.round(course.waitedMs);
  const waited = waitedMs === 0 ? "" : `, of which it waited ${waitedMs} ms for its turn`;
  return new OperatorError("KubeUnavailable", `${call.text}: ${what} within ${call.deadlineMs} ms${waited}${before}`);
}
