import { type Clock, systemClock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { type Log, logFailure, silentLog } from "#base/log.ts";
import type { CallOptions } from "./client.ts";
import { LEASES } from "./kinds.ts";
import { heldLease, releasedLease } from "./lease-record.ts";
import { type LeaseClient, LeaseView } from "./lease-view.ts";

export type { LeaseClient } from "./lease-view.ts";

// Why are there never two leaders at once?
//   A candidate acquires a lease only after seeing it unchanged for `durationMs` by its own clock, counted from
//   reading. The leader acts only for `renewDeadlineMs`, which is shorter, counted from SENDING a renewal that
//   succeeded. Sending comes before the write, the write before the candidate's read. So the leader stops at least
//   `durationMs - renewDeadlineMs` before a takeover, however slow replies and however wrong wall clocks are.
// What if the leader's process was frozen? `mayAct` reads the monotonic clock, which continues during the freeze.
// What if two candidates acquire it at once? Every write carries the resourceVersion read: one of them gets a conflict.
// What if the lease is deleted? A candidate that has seen it waits as if it still existed. One that has just started
//   does not know of it; do not delete the lease of a running operator.
// What is not covered? A write that was sent in time and arrives late; it carries its own precondition. And clocks that
//   differ in rate by more than a third.
// Why not a library? @kubernetes/client-node has no leader election.

/** Times of a lease in milliseconds; required: renewEvery < renewDeadline < duration. */
export interface LeaseDurations {
  /** Wait of a candidate after the last change that it saw. */
  readonly durationMs: number;
  /** Time for which the leader may act after sending a renewal that succeeded. */
  readonly renewDeadlineMs: number;
  readonly renewEveryMs: number;
  /** Pause between two reads of a candidate. */
  readonly lookEveryMs: number;
}

/** Defaults of client-go, but candidates read every second, so that a released lease is acquired within about one. */
export const LEASE_DURATIONS: LeaseDurations = {
  durationMs: 15_000,
  renewDeadlineMs: 10_000,
  renewEveryMs: 2_000,
  lookEveryMs: 1_000,
};

/** Deadline of one call for the lease, so that several fit before the renew deadline. */
export const CALL_MS = 3_000;
/** Time to release a lease. If the server does not answer, the lease expires; the kubelet waits for the process. */
export const RELEASE_MS = 2_000;

interface ElectionOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** Unique per process: the pod's name with a random suffix. */
  readonly identity: string;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly durations?: LeaseDurations;
  /** Called once for each other holder seen while this process is a candidate. */
  readonly onRival?: (holder: string) => void;
}

export interface Term {
  /**
   * Called when a term begins. The signal aborts when the term ends. A returned promise must settle only after all work
   * has stopped: only then is the lease released, or acquired again.
   */
  onStarted(signal: AbortSignal): Promise<void> | void;
  /** Called when a term has ended and its work has stopped. */
  onStopped?(): void;
}

export class Election {
  readonly #client: LeaseClient;
  readonly #view: LeaseView;
  readonly #identity: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #durations: LeaseDurations;
  readonly #onRival: (holder: string) => void;
  /** Holder last reported to `onRival`. */
  #rival: string | undefined;
  /** Monotonic time until which no other process can hold the lease. */
  #mayActUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ElectionOptions) {
    this.#client = options.client;
    this.#identity = options.identity;
    this.#clock = options.clock ?? systemClock;
    this.#log = (options.log ?? silentLog).with({ namespace: options.namespace, name: options.name });
    this.#durations = options.durations ?? LEASE_DURATIONS;
    this.#onRival = options.onRival ?? (() => undefined);
    const { renewEveryMs, renewDeadlineMs, durationMs } = this.#durations;
    const { namespace, name } = options;
    this.#view = new LeaseView(options.client, { namespace, name }, this.#clock, durationMs);
    invariant(renewEveryMs < renewDeadlineMs && renewDeadlineMs < durationMs, "renewEvery < renewDeadline < duration");
    invariant(options.identity !== "", "a candidate has an identity");
  }

  /** Whether no other process can be the leader now. Check right before every write. */
  mayAct(): boolean {
    return this.#clock.monotonicMs() < this.#mayActUntilMs;
  }

  /** Holder of the lease at the last read; undefined without one. */
  get holder(): string | undefined {
    return this.#view.holder;
  }

  /** Milliseconds until it may be acquired, unless it is renewed before; 0 when now, or when held here. */
  get freeInMs(): number {
    return this.#view.freeInMs(this.#identity);
  }

  /** Time for which the holder could have renewed and did not, in milliseconds; see LeaseView. */
  get silentMs(): number {
    return this.#view.silentMs;
  }

  /**
   * Runs for leader until the signal aborts, term after term; then releases the lease.
   * @throws what `onStarted` threw, after releasing the lease
   */
  async run(signal: AbortSignal, term: Term): Promise<void> {
    while (!signal.aborted) {
      if (await this.#tryAcquire(signal)) await this.#lead(signal, term);
      if (!signal.aborted) await this.#pause(this.#durations.lookEveryMs, signal);
    }
  }

  /**
   * Only reads the lease until the signal aborts, for a candidate that may not acquire it yet. If the holder is dead,
   * this starts the wait for expiry early. Must not run at the same time as `run`.
   */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look(signal, CALL_MS).catch((thrown: unknown) =>
        logFailure(this.#log, thrown, "the lease was not read"),
      );
      this.#reportRival();
      if (!signal.aborted) await this.#pause(this.#durations.lookEveryMs, signal);
    }
  }

  #reportRival(): void {
    const { holder } = this;
    if (holder === undefined || holder === this.#identity || holder === this.#rival) return;
    this.#rival = holder;
    this.#onRival(holder);
  }

  async #tryAcquire(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#look(signal, CALL_MS);
      this.#reportRival();
      if (this.freeInMs > 0) return false;
      await this.#write(signal, this.#durations.renewDeadlineMs);
    } catch (thrown) {
      logFailure(this.#log, thrown, "the lease could not be taken");
      return false;
    }
    this.#log.info({}, "this process leads");
    return true;
  }

  #look(signal: AbortSignal, withinMs: number): Promise<void> {
    return this.#view.look(this.#options(signal, withinMs));
  }

  /** One term: renews until the renew deadline, loss of the lease or abort; then waits for the work to stop. */
  async #lead(signal: AbortSignal, term: Term): Promise<void> {
    const ending = new AbortController();
    const work = startWork(term, ending.signal);
    const failed = new AbortController(); // Stops the renewals when the work itself fails.
    void work.then(({ thrown }) => thrown === undefined || failed.abort());
    await this.#renewUntil(AbortSignal.any([signal, failed.signal]));
    ending.abort(new OperatorError("Cancelled", "this process no longer leads"));
    const { thrown } = await this.#drained(work);
    await this.#release();
    this.#log.info({}, "this process no longer leads");
    term.onStopped?.();
    if (thrown !== undefined) throw thrown;
  }

  /** Renews until the term is over; returns at the renew deadline even while a renewal hangs. */
  async #renewUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.mayAct()) {
      await this.#pause(Math.min(this.#durations.renewEveryMs, this.#leftMs()), signal);
      if (signal.aborted || !this.mayAct()) return;
      if (!(await this.#renew(signal))) return;
    }
  }

  /** @returns false when the lease is certainly lost */
  async #renew(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#write(signal, this.#leftMs());
      return true;
    } catch (thrown) {
      if (signal.aborted) return true;
      logFailure(this.#log, thrown, "the lease was not renewed");
      if (!hasCode(thrown, "KubeConflict", "KubeNotFound", "KubeAlreadyExists")) return true;
    }
    return await this.#isStillOurs(signal, this.#leftMs());
  }

  /** Whether we still hold the lease after a conflict: an earlier renewal may have succeeded with its reply lost. */
  async #isStillOurs(signal: AbortSignal, withinMs: number): Promise<boolean> {
    try {
      await this.#look(signal, withinMs);
    } catch (thrown) {
      logFailure(this.#log, thrown, "the lease could not be read");
      return true; // Unknown whether the lease is lost: the renew deadline decides.
    }
    if (this.#view.current?.spec?.holderIdentity === this.#identity) return true;
    this.#mayActUntilMs = Number.NEGATIVE_INFINITY;
    return false;
  }

  /** Writes this process as the holder; on success `mayAct` is true for renewDeadlineMs, counted from sending. */
  async #write(signal: AbortSignal, withinMs: number): Promise<void> {
    const { current } = this.#view;
    const sentMs = this.#clock.monotonicMs();
    const options = this.#options(signal, withinMs);
    const holder = { identity: this.#identity, durationMs: this.#durations.durationMs, nowMs: this.#clock.wallMs() };
    const draft = heldLease(current ?? this.#view.ref, holder);
    const written =
      current === undefined
        ? await this.#client.create(LEASES, draft, options)
        : await this.#client.replace(LEASES, draft, options);
    this.#view.note(written);
    this.#mayActUntilMs = sentMs + this.#durations.renewDeadlineMs;
  }

  /** Waits for the work to stop. Renews for up to one lease duration, so that no other process begins before. */
  async #drained(work: Promise<Outcome>): Promise<Outcome> {
    const stop = new AbortController();
    const giveUp = this.#clock.after(this.#durations.durationMs, () => stop.abort());
    const drained = work.finally(() => stop.abort());
    await this.#renewUntil(stop.signal);
    giveUp();
    return await drained;
  }

  /** Releases the lease, so that the next holder need not wait. If that fails, the lease expires. */
  async #release(): Promise<void> {
    this.#mayActUntilMs = Number.NEGATIVE_INFINITY; // Stop acting before the release.
    const over = new AbortController();
    const cancel = this.#clock.after(RELEASE_MS, () => over.abort());
    const options = this.#options(over.signal, RELEASE_MS);
    for (let attempt = 0; attempt < 2; attempt++) {
      const { current } = this.#view;
      if (current?.spec?.holderIdentity !== this.#identity) break;
      try {
        this.#view.note(await this.#client.replace(LEASES, releasedLease(current, this.#clock.wallMs()), options));
      } catch (thrown) {
        logFailure(this.#log, thrown, "the lease was not given back");
        if (!hasCode(thrown, "KubeConflict") || !(await this.#isStillOurs(over.signal, RELEASE_MS))) break;
      }
    }
    cancel();
  }

  #leftMs(): number {
    return Math.max(1, this.#mayActUntilMs - this.#clock.monotonicMs());
  }

  #options(signal: AbortSignal, withinMs: number): CallOptions {
    return { signal, deadlineMs: Math.max(1, Math.ceil(Math.min(CALL_MS, withinMs))), priority: "high" };
  }

  /** Sleeps; returns early when the signal aborts, which callers check themselves. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, signal).catch(() => undefined);
  }
}

/** How the work of a term ended. */
interface Outcome {
  readonly thrown?: unknown;
}

/** Runs the work of a term. Never rejects; an exception is in the outcome, unless the term had ended before. */
async function startWork(term: Term, signal: AbortSignal): Promise<Outcome> {
  try {
    await term.onStarted(signal);
    return {};
  } catch (thrown) {
    return signal.aborted ? {} : { thrown };
  }
}
