import { type Clock, systemClock } from "#base/clock.ts";
import { asOperatorError, type ErrorCode, hasCode } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import { rfc3339Micro } from "#base/timestamp.ts";
import type { CallOptions, JsonPatch } from "#kube/client.ts";
import { type Draft, LEASES, type Lease } from "#kube/kinds.ts";
import { CALL_MS, LEASE_DURATIONS, type LeaseDurations, RELEASE_MS } from "#kube/lease.ts";
import { heldLease, releasedLease } from "#kube/lease-record.ts";
import { type LeaseClient, LeaseView } from "#kube/lease-view.ts";
import { GroupView } from "./group-view.ts";
import { annotationsWith, countPatch, isPatchable, leavePatch, type Roll, withSomebody } from "./lease-roll.ts";

// Why may no process outside of the group act while one of the group believes that it may?
//   As for a single holder (lease.ts): a process believes for less time, from a moment before a renewal landed, than whoever is not of the
//   group waits from the last renewal that it saw. Whose renewal of the group it was makes no difference (group-belief.ts). So each need
//   count on only now and then, the more rarely the more there are.
// When is the lease given back?
//   By a process that leaves, has stopped acting, and leaves nobody on the roll. Who acts is on it, by a count that says for how long
//   others wait for the next one; it acts for less than that, from when it sent it. Only the process itself strikes itself out, when it has stopped acting, or who has not seen it
//   count on for that time. The write carries the version that was read: who comes meanwhile, or counts on, makes it fail.
// Who counts on patches a key of its own, as long as the group holds the lease: so nobody makes another one's renewal fail.
// What if somebody deletes the lease? Whoever was on it acts until he hears of that. So who makes it anew puts all on it again of whom he knows,
//   and somebody unknown, since others may have come or counted on after he had looked.
// What if the roll cannot be read? Somebody may have been on it, and so it is not empty until all have had the time to count anew.
// docs/adr/0035-shards-are-leases-of-a-group.md

/** How often a renewal is tried anew at once when another process came first. */
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

  /** Whether nobody outside of the group can be acting at this moment. Ask right before every change. */
  mayAct(): boolean {
    return !this.#isLeaving && this.#view.isBelieved;
  }

  /**
   * Processes of the group that go on, as far as is seen; this one too, while it does. In the order of their names.
   * @param forMs only those that were seen to come so long ago, or earlier; in milliseconds
   */
  alive(forMs = 0): readonly string[] {
    return this.#view.alive(forMs);
  }

  /**
   * Holds the lease with the group, whenever it can be had, until the signal aborts. Who calls this calls `leave` when all work has stopped.
   * @param stands whether it is asked for at this moment; otherwise it is only looked at, so that a dead holder's time runs
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
      this.#tellFailure(thrown, "the lease of the group was not renewed");
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    await this.#view.look(this.#options(signal));
    const { holder } = this.#view.lease;
    if (holder === this.#group || holder === undefined || holder === this.#rival) return;
    this.#rival = holder;
    this.#onRival(holder);
  }

  /** @param attempt from 0: a patch that is refused is no reason to lose the lease @returns false when it could not be done like this */
  async #renewed(signal: AbortSignal, attempt: number): Promise<boolean> {
    const wasHeld = this.mayAct();
    const { others, own, roll } = this.#view;
    const { current, ref, holder } = this.#view.lease;
    const isWhole = [...roll.keys()].every((name) => name === this.#process || others.has(name));
    const told = this.#view.nextCount();
    if (isPatchable(current, this.#group) && isWhole === (attempt % 2 === 0)) {
      const patch = countPatch(this.#group, this.#process, own, told, rfc3339Micro(this.#clock.wallMs()));
      if (!(await this.#patched(patch, signal))) return false;
    } else {
      const known = new Map([...others, [this.#process, told]]);
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

  /** Strikes this process out; the last one gives the lease back. Call it when `run` has ended and all work has stopped. It takes no longer than RELEASE_MS. */
  async leave(): Promise<void> {
    this.#isLeaving = true; // This comes before the lease is written, not after.
    if (!this.#view.hasCounted) return; // It never asked to be there, and need not wait for an API server that does not answer.
    const over = new AbortController();
    const cancel = this.#clock.after(RELEASE_MS, () => over.abort());
    try {
      for (let attempt = 0; attempt < ATTEMPTS && !over.signal.aborted; attempt++) {
        await this.#look(over.signal);
        if (await this.#left(over.signal, attempt)) return;
        await this.#pause(this.#random() * APART_MS, over.signal);
      }
    } catch (thrown) {
      this.#tellFailure(thrown, "this process was not struck off the lease of its group");
    } finally {
      cancel();
    }
  }

  /** @returns false when it could not be done with what was read */
  async #left(signal: AbortSignal, attempt: number): Promise<boolean> {
    const { others, own } = this.#view;
    const { current, holder } = this.#view.lease;
    if (current === undefined || holder !== this.#group) return true;
    if (others.size === 0)
      return await this.#written(withRoll(releasedLease(current, this.#clock.wallMs()), others), signal);
    if (own === undefined) return true;
    if (attempt % 2 === 1 || !isPatchable(current, this.#group))
      return await this.#written(withRoll(this.#held(current), others), signal);
    // Who was there as well may have left meanwhile: then nobody is, and the lease is still to be given back.
    return (await this.#patched(leavePatch(this.#group, this.#process), signal)) && this.#view.others.size > 0;
  }

  /** @returns false when somebody else wrote it first */
  async #written(draft: Draft<Lease>, signal: AbortSignal): Promise<boolean> {
    const options = this.#options(signal);
    const write = (): Promise<Lease> =>
      draft.metadata.resourceVersion === undefined
        ? this.#client.create(LEASES, draft, options)
        : this.#client.replace(LEASES, draft, options);
    return await this.#noted(write, ["KubeConflict", "KubeNotFound", "KubeAlreadyExists"]);
  }

  /** @returns false when it was refused: what must hold for it does so no more, or a patch is not allowed */
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
  const { metadata } = draft;
  return { ...draft, metadata: { ...metadata, annotations: annotationsWith(roll, metadata.annotations) } };
}
