import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { CallOptions, KubeClient } from "./client.ts";
import { LEASES, type Lease } from "./kinds.ts";
import { isSameVersion } from "./lease-record.ts";

/** Client methods that leases need; only leases that several processes share need `patch`. */
export type LeaseClient = Pick<KubeClient, "get" | "create" | "replace" | "patch">;

/** A lease as last read or written, with the time of its last change. */
interface Seen {
  readonly lease: Lease;
  /** Monotonic time when this resourceVersion was first seen here. */
  readonly sinceMs: number;
  /** Whether it was deleted since. Its duration still counts, because the holder may not know of the deletion. */
  readonly isGone: boolean;
  /** Longest time, in milliseconds, over which consecutive prompt reads showed no change. */
  readonly silentMs: number;
}

/**
 * Longest duration of a prompt read, in milliseconds. If reads are slower, the API server may be delaying the holder's
 * renewals as well, so an unchanged lease proves nothing about the holder.
 */
const SOON_MS = 2_000;

/** One candidate's view of a lease, timed by the candidate's own monotonic clock only. */
export class LeaseView {
  readonly #client: LeaseClient;
  readonly #clock: Clock;
  readonly #durationMs: number;
  readonly ref: { readonly namespace: string; readonly name: string };
  #seen: Seen | undefined;
  /** Monotonic time when the current run of prompt reads began; undefined: the last read was slow or failed. */
  #answeredSinceMs: number | undefined;

  /** @param durationMs shortest wait after the last observed change before the lease may be acquired */
  constructor(client: LeaseClient, ref: { namespace: string; name: string }, clock: Clock, durationMs: number) {
    this.#client = client;
    this.ref = ref;
    this.#clock = clock;
    this.#durationMs = durationMs;
  }

  /** Holder at the last read; undefined without one. */
  get holder(): string | undefined {
    const holder = this.#seen?.lease.spec?.holderIdentity;
    return holder === "" ? undefined : holder;
  }

  /** The lease to replace; undefined when it does not exist and has to be created. */
  get current(): Lease | undefined {
    return this.#seen?.isGone === false ? this.#seen.lease : undefined;
  }

  /** The lease as last seen, even if it was deleted since; undefined if never seen. */
  get last(): Lease | undefined {
    return this.#seen?.lease;
  }

  /**
   * Time for which the holder could have renewed and did not, in milliseconds. Time without prompt answers of the API
   * server does not count. Only for preparations: acquiring the lease depends on `freeInMs`.
   */
  get silentMs(): number {
    return this.#seen?.silentMs ?? 0;
  }

  /** Reads the lease. @throws OperatorError when that fails; a missing lease is no failure */
  async look(options: CallOptions): Promise<void> {
    const askedMs = this.#clock.monotonicMs();
    const lease = await this.#client.get(LEASES, this.ref, options).catch((thrown: unknown) => {
      if (hasCode(thrown, "KubeNotFound")) return undefined;
      this.#answeredSinceMs = undefined;
      throw thrown;
    });
    if (lease !== undefined) this.note(lease);
    else if (this.#seen !== undefined) this.#seen = { ...this.#seen, isGone: true };
    this.#noteSilence(askedMs);
  }

  #noteSilence(askedMs: number): void {
    const isSoon = this.#clock.monotonicMs() - askedMs <= SOON_MS;
    this.#answeredSinceMs = isSoon ? (this.#answeredSinceMs ?? askedMs) : undefined;
    if (this.#answeredSinceMs === undefined || this.#seen === undefined) return;
    const { sinceMs, silentMs } = this.#seen;
    const nowSilentMs = askedMs - Math.max(sinceMs, this.#answeredSinceMs);
    this.#seen = { ...this.#seen, silentMs: Math.max(silentMs, nowSilentMs) };
  }

  /** Records a lease that was read or written; its duration counts from when this version was first seen. */
  note(lease: Lease): void {
    if (!isSameVersion(lease, this.#seen?.lease))
      this.#seen = { lease, sinceMs: this.#clock.monotonicMs(), isGone: false, silentMs: 0 };
  }

  /** Milliseconds until `me` may acquire the lease, unless it is renewed before; 0: now. */
  freeInMs(me: string): number {
    if (this.#seen === undefined) return 0;
    const { lease, sinceMs } = this.#seen;
    if (this.holder === undefined || this.holder === me) return 0;
    const theirsMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    return Math.max(0, sinceMs + Math.max(theirsMs, this.#durationMs) - this.#clock.monotonicMs());
  }
}
