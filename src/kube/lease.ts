import { type Clock, systemClock } from "#base/clock.ts";
import { asOperatorError, hasCode, OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { type Log, silentLog } from "#base/log.ts";
import type { CallOptions } from "./client.ts";
import { LEASES } from "./kinds.ts";
import { heldLease, releasedLease } from "./lease-record.ts";
import { type LeaseClient, LeaseView } from "./lease-view.ts";

export type { LeaseClient } from "./lease-view.ts";

// Why may two processes never believe that they lead?
//   A candidate takes a lease only when it has not seen it change for `durationMs`, by its own clock, from the moment it read it.
//   The leader believes only for `renewDeadlineMs`, which is shorter, from the moment it SENT a renewal that succeeded. Sending is
//   before landing, landing before being read: so the leader stops believing at least `durationMs - renewDeadlineMs` before anyone
//   can take over, however slow replies are and however wrong the wall clocks.
// What if the leader's process was frozen? `mayAct` compares with the monotonic clock, which goes on meanwhile.
// What if two candidates take it at once? Every write carries the resourceVersion that was read: one of them gets a conflict.
// What if somebody deletes the lease? A candidate that has seen it waits as if it were still there. One that has just started does
//   not know of it; do not delete the lease of a running operator.
// What else is not covered? A write that was sent in time and arrives late; it carries its own precondition. And clocks that differ in
//   pace by more than a third.

/** How the times must lie: renewEvery < renewDeadline < duration. */
export interface LeaseDurations {
  /** How long a candidate waits after the last change that it saw. */
  readonly durationMs: number;
  /** How long the leader believes after sending a renewal that succeeded. */
  readonly renewDeadlineMs: number;
  readonly renewEveryMs: number;
  /** How often a candidate looks. */
  readonly lookEveryMs: number;
}

/** These are client-go's defaults, but candidates look more often, so that a released lease is taken within about a second. */
export const LEASE_DURATIONS: LeaseDurations = {
  durationMs: 15_000,
  renewDeadlineMs: 10_000,
  renewEveryMs: 2_000,
  lookEveryMs: 1_000,
};

/** One call for the lease may take this long, so that several fit before the renew deadline. */
export const CALL_MS = 3_000;
/** Giving a lease back may take this long, also when nobody answers: then it expires, and the kubelet waits for the process. */
export const RELEASE_MS = 2_000;

interface ElectionOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** It must differ between any two processes, so it is the pod's name and something random. */
  readonly identity: string;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly durations?: LeaseDurations;
  /** Told once of each other holder that is seen while this one stands for election. */
  readonly onRival?: (holder: string) => void;
}

export interface Term {
  /**
   * Called when a term begins. The signal aborts when it ends. A promise that it returns must settle only when all work has
   * stopped: only then the lease is given back, or asked for again.
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
  /** The last one that was told of. */
  #rival: string | undefined;
  /** Monotonic; until then nobody else can have the lease. */
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

  /** Whether nobody else can be leading at this moment. Ask right before every change. */
  mayAct(): boolean {
    return this.#clock.monotonicMs() < this.#mayActUntilMs;
  }

  /** Who held the lease when it was last looked at; undefined when nobody did. */
  get holder(): string | undefined {
    return this.#view.holder;
  }

  /** In how many milliseconds it may be taken if nobody renews it until then; 0 when now, or it is held here. */
  get freeInMs(): number {
    return this.#view.freeInMs(this.#identity);
  }

  /** For how long its holder could have renewed it and was seen not to, in milliseconds. */
  get silentMs(): number {
    return this.#view.silentMs;
  }

  /**
   * Stands for election until the signal aborts, term after term; then gives the lease back.
   * @throws what `onStarted` threw, after giving the lease back
   */
  async run(signal: AbortSignal, term: Term): Promise<void> {
    while (!signal.aborted) {
      if (await this.#tryAcquire(signal)) await this.#lead(signal, term);
      if (!signal.aborted) await this.#pause(this.#durations.lookEveryMs, signal);
    }
  }

  /**
   * Looks on until the signal aborts, as long as the candidate may not stand yet: so that the time of a holder that is dead already
   * runs for it too. Not beside `run`.
   */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look(signal, CALL_MS).catch((thrown: unknown) => this.#tellFailure(thrown, "the lease was not read"));
      this.#tellRival();
      if (!signal.aborted) await this.#pause(this.#durations.lookEveryMs, signal);
    }
  }

  #tellRival(): void {
    const { holder } = this;
    if (holder === undefined || holder === this.#identity || holder === this.#rival) return;
    this.#rival = holder;
    this.#onRival(holder);
  }

  async #tryAcquire(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#look(signal, CALL_MS);
      this.#tellRival();
      if (this.freeInMs > 0) return false;
      await this.#write(signal, this.#durations.renewDeadlineMs);
    } catch (thrown) {
      this.#tellFailure(thrown, "the lease could not be taken");
      return false;
    }
    this.#log.info({}, "this process leads");
    return true;
  }

  #look(signal: AbortSignal, withinMs: number): Promise<void> {
    return this.#view.look(this.#options(signal, withinMs));
  }

  /** One term: renews until that fails for too long, the lease is lost or the signal aborts; then waits for the work to stop. */
  async #lead(signal: AbortSignal, term: Term): Promise<void> {
    const ending = new AbortController();
    const work = startWork(term, ending.signal);
    const failed = new AbortController(); // This ends renewing when the work itself fails.
    void work.then(({ thrown }) => thrown === undefined || failed.abort());
    await this.#renewUntil(AbortSignal.any([signal, failed.signal]));
    ending.abort(new OperatorError("Cancelled", "this process no longer leads"));
    const { thrown } = await this.#drained(work);
    await this.#release();
    this.#log.info({}, "this process no longer leads");
    term.onStopped?.();
    if (thrown !== undefined) throw thrown;
  }

  /** Returns when the term is over; right away when the deadline passes, also while a renewal hangs. */
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
      this.#tellFailure(thrown, "the lease was not renewed");
      if (!hasCode(thrown, "KubeConflict", "KubeNotFound", "KubeAlreadyExists")) return true;
    }
    return await this.#isStillOurs(signal, this.#leftMs());
  }

  /** After a conflict: an earlier renewal may have landed although its reply was lost. */
  async #isStillOurs(signal: AbortSignal, withinMs: number): Promise<boolean> {
    try {
      await this.#look(signal, withinMs);
    } catch (thrown) {
      this.#tellFailure(thrown, "the lease could not be read");
      return true; // It is not known whether the lease is lost: the renew deadline decides.
    }
    if (this.#view.current?.spec?.holderIdentity === this.#identity) return true;
    this.#mayActUntilMs = Number.NEGATIVE_INFINITY;
    return false;
  }

  /** Writes ourselves as the holder; on success `mayAct` holds for renewDeadlineMs from before sending. */
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

  /** Waits for the work to stop, and renews meanwhile so that nobody else begins before. Bounded by one lease duration. */
  async #drained(work: Promise<Outcome>): Promise<Outcome> {
    const stop = new AbortController();
    const giveUp = this.#clock.after(this.#durations.durationMs, () => stop.abort());
    const drained = work.finally(() => stop.abort());
    await this.#renewUntil(stop.signal);
    giveUp();
    return await drained;
  }

  /** Gives the lease back, so that the next holder need not wait; nobody here acts any more. If that fails, the lease expires. */
  async #release(): Promise<void> {
    this.#mayActUntilMs = Number.NEGATIVE_INFINITY; // This comes before the lease is given back, not after.
    const over = new AbortController();
    const cancel = this.#clock.after(RELEASE_MS, () => over.abort());
    const options = this.#options(over.signal, RELEASE_MS);
    for (let attempt = 0; attempt < 2; attempt++) {
      const { current } = this.#view;
      if (current?.spec?.holderIdentity !== this.#identity) break;
      try {
        this.#view.note(await this.#client.replace(LEASES, releasedLease(current, this.#clock.wallMs()), options));
      } catch (thrown) {
        this.#tellFailure(thrown, "the lease was not given back");
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

  /** Sleeps; returns early when the signal aborts, which callers look at themselves. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, signal).catch(() => undefined);
  }

  #tellFailure(thrown: unknown, sentence: string): void {
    const { code, message } = asOperatorError(thrown);
    if (code === "Cancelled") return;
    if (code === "Bug") this.#log.error({ code, error: message }, sentence);
    else this.#log.warn({ code, error: message }, sentence);
  }
}

/** How the work of a term ended. */
interface Outcome {
  readonly thrown?: unknown;
}

/** Never rejects: what was thrown is told when the term is over. */
async function startWork(term: Term, signal: AbortSignal): Promise<Outcome> {
  try {
    await term.onStarted(signal);
    return {};
  } catch (thrown) {
    return signal.aborted ? {} : { thrown };
  }
}
