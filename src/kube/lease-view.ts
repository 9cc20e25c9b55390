import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { CallOptions, KubeClient } from "./client.ts";
import { LEASES, type Lease } from "./kinds.ts";
import { isSameVersion } from "./lease-record.ts";

/** The part of the client that leases need; `patch` only those that several processes hold together. */
export type LeaseClient = Pick<KubeClient, "get" | "create" | "replace" | "patch">;

/** A lease as it was read or written, and when. */
interface Seen {
  readonly lease: Lease;
  /** Monotonic; when this resourceVersion was first seen here. */
  readonly sinceMs: number;
  /** Whether somebody has deleted it since. Its time runs on, because its holder does not know yet. */
  readonly isGone: boolean;
  /** For how long it was seen not to change by looks that were answered soon, one after the other. */
  readonly silentMs: number;
}

/** An answer that takes longer, in milliseconds, says nothing of who does not renew the lease: as little as the API server answers this look it lets anybody renew. */
const SOON_MS = 2_000;

/** What one candidate has seen of a lease, and how long ago by its own clock: the only clock by which it is ever taken. */
export class LeaseView {
  readonly #client: LeaseClient;
  readonly #clock: Clock;
  readonly #durationMs: number;
  readonly ref: { readonly namespace: string; readonly name: string };
  #seen: Seen | undefined;
  /** Monotonic; when the first of the looks was sent that were answered soon, up to the last one; undefined: that was not. */
  #answeredSinceMs: number | undefined;

  /** @param durationMs how long a candidate waits at least after the last change that it saw */
  constructor(client: LeaseClient, ref: { namespace: string; name: string }, clock: Clock, durationMs: number) {
    this.#client = client;
    this.ref = ref;
    this.#clock = clock;
    this.#durationMs = durationMs;
  }

  /** Who held it when it was last looked at; undefined when nobody did. */
  get holder(): string | undefined {
    const holder = this.#seen?.lease.spec?.holderIdentity;
    return holder === "" ? undefined : holder;
  }

  /** The lease to be replaced; undefined when there is none and one is to be made. */
  get current(): Lease | undefined {
    return this.#seen?.isGone === false ? this.#seen.lease : undefined;
  }

  /** As it was seen last, also when somebody has deleted it since; undefined when it never was. */
  get last(): Lease | undefined {
    return this.#seen?.lease;
  }

  /**
   * For how long its holder could have renewed it and did not, in milliseconds: time in which the API server does not answer does not count.
   * It is for what is prepared; nobody takes a lease by it.
   */
  get silentMs(): number {
    return this.#seen?.silentMs ?? 0;
  }

  /** @throws OperatorError when it could not be read */
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

  /** Remembers a lease; its time runs from when this version of it was first seen. */
  note(lease: Lease): void {
    if (!isSameVersion(lease, this.#seen?.lease))
      this.#seen = { lease, sinceMs: this.#clock.monotonicMs(), isGone: false, silentMs: 0 };
  }

  /** In how many milliseconds `me` may take it, if it is not renewed until then; 0: now. */
  freeInMs(me: string): number {
    if (this.#seen === undefined) return 0;
    const { lease, sinceMs } = this.#seen;
    if (this.holder === undefined || this.holder === me) return 0;
    const theirsMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    return Math.max(0, sinceMs + Math.max(theirsMs, this.#durationMs) - this.#clock.monotonicMs());
  }
}
