import { type Clock, systemClock } from "#base/clock.ts";
import { type ErrorCode, hasCode } from "#base/error.ts";
import { type Log, logFailure, silentLog } from "#base/log.ts";
import { rfc3339Micro } from "#base/timestamp.ts";
import type { CallOptions, JsonPatch } from "#kube/client.ts";
import { type Draft, LEASES, type Lease } from "#kube/kinds.ts";
import { CALL_MS, LEASE_DURATIONS, type LeaseDurations, RELEASE_MS } from "#kube/lease.ts";
import { heldLease, releasedLease } from "#kube/lease-record.ts";
import { type LeaseClient, LeaseView } from "#kube/lease-view.ts";
import { GroupView } from "./group-view.ts";
import { annotationsWith, countPatch, isPatchable, leavePatch, type Roll, withSomebody } from "./lease-roll.ts";

// Why may no process outside of the group act while one of the group assumes that it may?
//   As for a single holder (lease.ts), a process relies on a renewal for less time than a process outside of the group
//   waits. It counts from a moment before the renewal was stored; the other counts from the last renewal that it saw.
//   It makes no difference which process renewed (group-belief.ts), so in a large group each renews rarely.
// When is the lease given back?
//   A process that leaves, has stopped acting, and leaves an empty roll gives it back. An acting process is on the roll
//   with a count that states how long others must wait for the next count. It acts for less than that. A process
//   removes itself when it has stopped acting; others remove it only after that time without a new count. The write
//   carries the version that was read, so it fails if a process joins or renews in between. Renewals patch the
//   process's own key as long as the group holds the lease, so they do not conflict.
// What if the lease is deleted?
//   Its processes act until they see that. So the process that creates it again lists all that it knows, and an unknown
//   one, since others may have joined after its last read.
// What if the roll cannot be parsed?
//   It counts as not empty until all processes have had time to renew.
// docs/adr/0035-shards.md

/** How often a renewal is retried at once after a conflict. */
const ATTEMPTS = 5;
/** Longest pause between two such tries, in milliseconds. */
const APART_MS = 100;

interface GroupLeaseOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** Holder of the lease: the same for all processes of the group, and for no others. */
  readonly group: string;
  /** Unique name of this process on the roll. */
  readonly process: string;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly durations?: LeaseDurations;
  /** 0 to 1: keeps two processes from colliding again and again. */
  readonly random?: () => number;
  /** Called once for each other holder that is seen. */
  readonly onRival?: (holder: string) => void;
}

/** A lease that several processes hold together, against all others. */
export class GroupLease {
  readonly #client: LeaseClient;
  readonly #view: GroupView;
  readonly #group: string;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #durations: LeaseDurations;
  readonly #random: () => number;
  readonly #onRival: (holder: string) => void;
  #isLeaving = false;
  #rival: string | undefined;

  constructor(options: GroupLeaseOptions) {
    const { client, namespace, name, group, process } = options;
    this.#client = client;
    this.#group = group;
    this.#process = process;
    this.#clock = options.clock ?? systemClock;
    this.#log = (options.log ?? silentLog).with({ namespace, name });
    this.#durations = options.durations ?? LEASE_DURATIONS;
    this.#random = options.random ?? Math.random;
    this.#onRival = options.onRival ?? (() => undefined);
    const [clock, durations] = [this.#clock, this.#durations];
    const lease = new LeaseView(client, { namespace, name }, clock, durations.durationMs);
    this.#view = new GroupView({ lease, group, process, clock, durations });
  }

  /** Whether no process outside of the group can be acting now. Check right before every write. */
  mayAct(): boolean {
    return !this.#isLeaving && this.#view.isBelieved;
  }

  /**
   * Living processes of the group, sorted by name; includes this one while it renews.
   * @param forMs only those that joined at least so long ago, in milliseconds
   */
  alive(forMs = 0): readonly string[] {
    return this.#view.alive(forMs);
  }

  /**
   * Acquires and renews the lease with the group until the signal aborts. The caller calls `leave` when all work has
   * stopped.
   * @param stands whether to campaign for the lease now; otherwise it is only observed, so that a dead holder's time
   * runs out
   */
  async run(signal: AbortSignal, stands: () => boolean = () => true): Promise<void> {
    while (!signal.aborted) {
      await this.#turn(signal, stands);
      const pauseMs = this.mayAct() ? this.#durations.renewEveryMs : this.#durations.lookEveryMs;
      await this.#pause(pauseMs * (0.9 + 0.2 * this.#random()), signal);
    }
  }

  async #turn(signal: AbortSignal, stands: () => boolean): Promise<void> {
    try {
      for (let attempt = 0; attempt < ATTEMPTS && !signal.aborted; attempt++) {
        await this.#look(signal);
        if (!stands() || this.#view.lease.freeInMs(this.#group) > 0 || !this.#view.isDue) return;
        if (await this.#renewed(signal, attempt)) return;
        await this.#pause(this.#random() * APART_MS, signal);
      }
    } catch (thrown) {
      logFailure(this.#log, thrown, "the group's lease was not renewed");
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    await this.#view.look(this.#options(signal));
    const { holder } = this.#view.lease;
    if (holder === this.#group || holder === undefined || holder === this.#rival) return;
    this.#rival = holder;
    this.#onRival(holder);
  }

  /**
   * @param attempt from 0: alternates between a patch and a full write, so that refused patches do not lose the lease
   * @returns false on a conflict
   */
  async #renewed(signal: AbortSignal, attempt: number): Promise<boolean> {
    const wasHeld = this.mayAct();
    const { others, own, roll } = this.#view;
    const { current, ref, holder } = this.#view.lease;
    const isWhole = [...roll.keys()].every((name) => name === this.#process || others.has(name));
    const entry = this.#view.nextCount();
    if (isPatchable(current, this.#group) && isWhole === (attempt % 2 === 0)) {
      const patch = countPatch(this.#group, this.#process, own, entry, rfc3339Micro(this.#clock.wallMs()));
      if (!(await this.#patched(patch, signal))) return false;
    } else {
      const known = new Map([...others, [this.#process, entry]]);
      const isMadeAnew = current === undefined && holder === this.#group;
      const draft = withRoll(this.#held(current ?? ref), isMadeAnew ? withSomebody(known) : known);
      if (!(await this.#written(draft, signal))) return false;
    }
    if (!wasHeld) this.#log.info({}, "the group of this process holds the lease");
    return true;
  }

  #held(current: Parameters<typeof heldLease>[0]): Draft<Lease> {
    const { durationMs } = this.#durations;
    return heldLease(current, { identity: this.#group, durationMs, nowMs: this.#clock.wallMs() });
  }

  /**
   * Removes this process from the roll; the last one gives the lease back. Called when `run` has ended and all work has
   * stopped. Takes at most RELEASE_MS.
   */
  async leave(): Promise<void> {
    this.#isLeaving = true; // Set before the lease is written, not after.
    if (!this.#view.hasCounted) return; // It never renewed, and need not wait for an API server that does not answer.
    const over = new AbortController();
    const cancel = this.#clock.after(RELEASE_MS, () => over.abort());
    try {
      for (let attempt = 0; attempt < ATTEMPTS && !over.signal.aborted; attempt++) {
        await this.#look(over.signal);
        if (await this.#left(over.signal, attempt)) return;
        await this.#pause(this.#random() * APART_MS, over.signal);
      }
    } catch (thrown) {
      logFailure(this.#log, thrown, "this process could not be removed from its group's lease");
    } finally {
      cancel();
    }
  }

  /** @returns false when what was read is out of date */
  async #left(signal: AbortSignal, attempt: number): Promise<boolean> {
    const { others, own } = this.#view;
    const { current, holder } = this.#view.lease;
    if (current === undefined || holder !== this.#group) return true;
    if (others.size === 0)
      return await this.#written(withRoll(releasedLease(current, this.#clock.wallMs()), others), signal);
    if (own === undefined) return true;
    if (attempt % 2 === 1 || !isPatchable(current, this.#group))
      return await this.#written(withRoll(this.#held(current), others), signal);
    // If others have left during this write, the roll is empty now, and the lease must still be given back.
    return (await this.#patched(leavePatch(this.#group, this.#process), signal)) && this.#view.others.size > 0;
  }

  /** @returns false on a conflict */
  async #written(draft: Draft<Lease>, signal: AbortSignal): Promise<boolean> {
    const options = this.#options(signal);
    const write = (): Promise<Lease> =>
      draft.metadata.resourceVersion === undefined
        ? this.#client.create(LEASES, draft, options)
        : this.#client.replace(LEASES, draft, options);
    return await this.#noted(write, ["KubeConflict", "KubeNotFound", "KubeAlreadyExists"]);
  }

  /** @returns false when the patch was refused: its preconditions no longer hold, or patches are forbidden */
  async #patched(patch: readonly JsonPatch[], signal: AbortSignal): Promise<boolean> {
    const options = { ...this.#options(signal), type: "json" } as const;
    const write = (): Promise<Lease> => this.#client.patch(LEASES, this.#view.lease.ref, patch, options);
    return await this.#noted(write, ["KubeConflict", "KubeNotFound", "KubeInvalid", "KubeForbidden"]);
  }

  async #noted(write: () => Promise<Lease>, refusals: readonly ErrorCode[]): Promise<boolean> {
    try {
      await this.#view.change(write);
      return true;
    } catch (thrown) {
      if (hasCode(thrown, ...refusals)) return false;
      throw thrown;
    }
  }

  #options(signal: AbortSignal): CallOptions {
    return { signal, deadlineMs: this.#isLeaving ? RELEASE_MS : CALL_MS, priority: "high" };
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, signal).catch(() => undefined); // Aborted: the caller checks the signal itself.
  }
}

function withRoll(draft: Draft<Lease>, roll: Roll): Draft<Lease> {
  const { metadata } = draft;
  return { ...draft, metadata: { ...metadata, annotations: annotationsWith(roll, metadata.annotations) } };
}
