import { type Clock, systemClock } from "#base/clock.ts";
import { asOperatorError, hasCode } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import type { CallOptions } from "./client.ts";
import { type Draft, LEASES, type Lease } from "./kinds.ts";
import { CALL_MS, LEASE_DURATIONS, type LeaseDurations } from "./lease.ts";
import { heldLease, releasedLease } from "./lease-record.ts";
import {
  aliveIn,
  nextRoll,
  ROLL_ANNOTATION,
  type Roll,
  rollOf,
  rollText,
  type SeenRoll,
  seenRoll,
} from "./lease-roll.ts";
import { type LeaseClient, LeaseView } from "./lease-view.ts";

// Why may no process outside of the group act while one of the group believes that it may?
//   As for a single holder (lease.ts): a process believes for less time, from the moment it SENT a renewal that succeeded, than whoever is
//   not of the group waits from the last renewal that it saw, whoever of the group made it.
// When is the lease given back?
//   By a process that leaves, has stopped acting, and leaves nobody on the roll. Each renewal that succeeded has put its process there; only
//   the process itself strikes itself out, when it has stopped acting, or who has not seen it count on for a lease's time, in which it has
//   stopped believing. The write carries the version that was read: who comes meanwhile, or counts on, makes it fail.
// What if somebody deletes the lease? Whoever was on it acts until he hears of that. So who makes it anew puts them all on it again.
// What if the roll cannot be read? Somebody may have been on it, and so it is not empty until all have had the time to count anew.
// docs/adr/0035-shards-are-leases-of-a-group.md

/** Who has not counted on for so long is not counted on for work, in milliseconds. Nothing but how work is spread depends on it. */
const ALIVE_MS = 7_000;
/** How often a renewal is tried anew at once when another process of the group came first. */
const ATTEMPTS = 5;
/** Between two such tries at most, in milliseconds. */
const APART_MS = 100;

interface GroupLeaseOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** Who holds the lease: the same for all processes of the group, and for no others. */
  readonly group: string;
  /** Who this process is on the roll: unique. */
  readonly process: string;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly durations?: LeaseDurations;
  /** 0 to 1: keeps two processes from coming at the same moment again and again. */
  readonly random?: () => number;
  /** Told once of each other holder that is seen. */
  readonly onRival?: (holder: string) => void;
}

/** A lease that several processes hold together, against all others. */
export class GroupLease {
  readonly #client: LeaseClient;
  readonly #view: LeaseView;
  readonly #group: string;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #durations: LeaseDurations;
  readonly #random: () => number;
  readonly #onRival: (holder: string) => void;
  #seen: SeenRoll = new Map();
  #count = 0;
  #rival: string | undefined;
  /** Monotonic; until then nobody outside of the group can have the lease. */
  #mayActUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: GroupLeaseOptions) {
    const { client, namespace, name } = options;
    this.#client = client;
    this.#group = options.group;
    this.#process = options.process;
    this.#clock = options.clock ?? systemClock;
    this.#log = (options.log ?? silentLog).with({ namespace, name });
    this.#durations = options.durations ?? LEASE_DURATIONS;
    this.#random = options.random ?? Math.random;
    this.#onRival = options.onRival ?? (() => undefined);
    this.#view = new LeaseView(client, { namespace, name }, this.#clock, this.#durations.durationMs);
  }

  /** Whether nobody outside of the group can be acting at this moment. Ask right before every change. */
  mayAct(): boolean {
    return this.#clock.monotonicMs() < this.#mayActUntilMs;
  }

  /** Processes of the group that go on, as far as is seen; this one too, while it does. In the order of their names. */
  get alive(): readonly string[] {
    return aliveIn(this.#seen, ALIVE_MS, this.#clock.monotonicMs());
  }

  /**
   * Holds the lease with the group, whenever it can be had, until the signal aborts. Who calls this calls `leave` when all work has stopped.
   * @param stands whether it is asked for at this moment; otherwise it is only looked at, so that a dead holder's time runs
   */
  async run(signal: AbortSignal, stands: () => boolean = () => true): Promise<void> {
    while (!signal.aborted) {
      await this.#turn(signal, stands);
      const pauseMs = this.mayAct() ? this.#durations.renewEveryMs : this.#durations.lookEveryMs;
      await this.#pause(pauseMs, signal);
    }
  }

  async #turn(signal: AbortSignal, stands: () => boolean): Promise<void> {
    try {
      for (let attempt = 0; attempt < ATTEMPTS && !signal.aborted; attempt++) {
        await this.#look(signal);
        if (!stands() || this.#view.freeInMs(this.#group) > 0) return;
        if (await this.#renewed(signal)) return;
        await this.#pause(this.#random() * APART_MS, signal);
      }
    } catch (thrown) {
      this.#tellFailure(thrown, "the lease of the group was not renewed");
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    await this.#view.look(this.#options(signal));
    this.#noteRoll();
    const { holder } = this.#view;
    if (holder === this.#group) return;
    this.#mayActUntilMs = Number.NEGATIVE_INFINITY;
    if (holder === undefined || holder === this.#rival) return;
    this.#rival = holder;
    this.#onRival(holder);
  }

  #noteRoll(): void {
    this.#seen = seenRoll(this.#seen, this.#roll, this.#clock.monotonicMs());
  }

  get #roll(): Roll {
    return rollOf(this.#view.last, this.#group);
  }

  /** @returns false when somebody else wrote it first */
  async #renewed(signal: AbortSignal): Promise<boolean> {
    const wasHeld = this.mayAct();
    const sentMs = this.#clock.monotonicMs();
    const { current, ref } = this.#view;
    this.#count += 1;
    const roll = this.#next(this.#count);
    const draft = heldLease(current ?? ref, {
      identity: this.#group,
      durationMs: this.#durations.durationMs,
      nowMs: this.#clock.wallMs(),
    });
    try {
      await this.#write(withRoll(draft, roll), signal);
    } catch (thrown) {
      if (hasCode(thrown, "KubeConflict", "KubeNotFound", "KubeAlreadyExists")) return false;
      throw thrown;
    }
    this.#mayActUntilMs = sentMs + this.#durations.renewDeadlineMs;
    if (!wasHeld) this.#log.info({}, "the group of this process holds the lease");
    return true;
  }

  #next(count: number | undefined): Roll {
    const { durationMs } = this.#durations;
    const me = { name: this.#process, count, durationMs, nowMs: this.#clock.monotonicMs() };
    return nextRoll(this.#roll, this.#seen, me);
  }

  /** Strikes this process out; the last one gives the lease back. Call it when `run` has ended and all work has stopped. */
  async leave(): Promise<void> {
    this.#mayActUntilMs = Number.NEGATIVE_INFINITY; // This comes before the lease is written, not after.
    if (this.#count === 0) return; // It never asked to be there, and need not wait for an API server that does not answer.
    const { signal } = new AbortController();
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        await this.#look(signal);
        if (!this.#roll.has(this.#process)) return;
        if (await this.#left(signal)) return;
        await this.#pause(this.#random() * APART_MS, signal);
      }
    } catch (thrown) {
      this.#tellFailure(thrown, "this process was not struck off the lease of its group");
    }
  }

  async #left(signal: AbortSignal): Promise<boolean> {
    const { current } = this.#view;
    const roll = this.#next(undefined);
    if (current === undefined) return true;
    const nowMs = this.#clock.wallMs();
    const { durationMs } = this.#durations;
    const draft =
      roll.size === 0
        ? releasedLease(current, nowMs)
        : heldLease(current, { identity: this.#group, durationMs, nowMs });
    try {
      await this.#write(withRoll(draft, roll), signal);
      return true;
    } catch (thrown) {
      if (hasCode(thrown, "KubeConflict", "KubeNotFound")) return false;
      throw thrown;
    }
  }

  async #write(draft: Draft<Lease>, signal: AbortSignal): Promise<void> {
    const options = this.#options(signal);
    const written =
      draft.metadata.resourceVersion === undefined
        ? await this.#client.create(LEASES, draft, options)
        : await this.#client.replace(LEASES, draft, options);
    this.#view.note(written);
    this.#noteRoll();
  }

  #options(signal: AbortSignal): CallOptions {
    return { signal, deadlineMs: CALL_MS, priority: "high" };
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, signal).catch(() => undefined); // aborted: the caller looks at the signal itself
  }

  #tellFailure(thrown: unknown, sentence: string): void {
    const { code, message } = asOperatorError(thrown);
    if (code === "Cancelled") return;
    if (code === "Bug") this.#log.error({ code, error: message }, sentence);
    else this.#log.warn({ code, error: message }, sentence);
  }
}

function withRoll(draft: Draft<Lease>, roll: Roll): Draft<Lease> {
  const annotations = { ...draft.metadata.annotations, [ROLL_ANNOTATION]: rollText(roll) };
  return { ...draft, metadata: { ...draft.metadata, annotations } };
}
