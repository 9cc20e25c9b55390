import type { Clock } from "#base/clock.ts";
import { isOneMoreLeft } from "#base/places-left.ts";

// Why a bound?
//   Each call in flight needs a connection of its own, which over TLS costs 130 kB and a handshake on both sides. A hundred clusters that are
//   made at once have two hundred passes call side by side, and an API server answers them no sooner than thirty (docs/performance.md, `fleet`).
// Why does it not count those that take long?
//   They hang in somebody's admission webhook, or the server is slow: neither is to hold up the others. So at least `most` calls are begun in
//   each `slowMs`, whatever becomes of them, until there are `inAll`.
// Who is next of those that wait?
//   A namespace that has the fewest calls among those that count; of several, the one that has been without a turn for longest. So whoever has a
//   slow webhook waits behind its own calls: no namespace gets more than an equal share of the places while others wait. Where one has taken
//   all of them, since nobody waited, those that become free next are the others', after `slowMs` at the most.
// What if the calls of a namespace hang?
//   They have their connections until they end. So one namespace alone gets two thirds of them, and ever less of the last third: there is a
//   place for one more that comes until seventeen have all of them (base/places-left.ts).

export interface InFlightLimits {
  /** Calls that may be in flight side by side, those aside that take long; 1 or more. */
  readonly most: number;
  /** A call takes long that has been in flight for this many milliseconds. */
  readonly slowMs: number;
  /** Calls that may be in flight side by side, those that take long among them. */
  readonly inAll: number;
}

/**
 * Calls that a server answers within 20 ms are made at 1,600 a second with these: three times what the rate limit lets pass. However slow it is,
 * 160 a second are begun: of calls that take 0.9 s, 144 are in flight then, and more than half as many are answered as by all connections that
 * there may be. With a longer `slowMs` who is slow holds up everybody; with a shorter one a server that carries out 170 calls a second, and so
 * answers 32 at a time within 190 ms, is given ever more of them. Of `inAll` no
 * namespace has more than two thirds, however many of its passes run side by side.
 */
export const DEFAULT_IN_FLIGHT: InFlightLimits = { most: 32, slowMs: 200, inAll: 256 };

/** A call in flight. */
interface Place {
  readonly of: Tenant;
  /** By monotonic clock. */
  readonly begunMs: number;
}

/** One who waits for a place. */
interface Waiter {
  /** It is its turn. */
  readonly go: () => void;
  readonly fail: (why: Error) => void;
}

/** A namespace that has calls, or waits for one. */
interface Tenant {
  readonly namespace: string;
  inFlight: number;
  /** Of those in flight. */
  counting: number;
  readonly waiting: Set<Waiter>;
}

/** How many calls are in flight side by side. Those of a namespace begin in order of arrival. */
export class InFlight {
  readonly #clock: Clock;
  readonly #limits: InFlightLimits;
  readonly #places = new Set<Place>();
  /** Those that count, the earliest first. */
  readonly #counting = new Set<Place>();
  /** By namespace. */
  readonly #tenants = new Map<string, Tenant>();
  /** Those that wait, those first that have been without a turn for longest. */
  readonly #line = new Set<Tenant>();
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock, limits: InFlightLimits = DEFAULT_IN_FLIGHT) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Resolves when a call may begin; rejects with the signal's reason, and then takes no place.
   * @param namespace whose call it is; empty: of the whole cluster
   * @returns what to call when it has ended
   */
  async enter(signal: AbortSignal, namespace: string): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const tenant = this.#tenantOf(namespace);
    const waiter: Waiter = { go: () => resolve(this.#begin(tenant)), fail: reject };
    const giveUp = (): void => {
      this.#leaveLine(tenant, waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    tenant.waiting.add(waiter);
    this.#line.add(tenant);
    this.#next();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Whoever waits now hears why it waits in vain. */
  refuseAll(why: Error): void {
    for (const tenant of this.#line) {
      for (const waiter of tenant.waiting) {
        this.#leaveLine(tenant, waiter);
        waiter.fail(why);
      }
    }
  }

  #tenantOf(namespace: string): Tenant {
    const tenant = this.#tenants.get(namespace) ?? { namespace, inFlight: 0, counting: 0, waiting: new Set() };
    this.#tenants.set(namespace, tenant);
    return tenant;
  }

  #leaveLine(tenant: Tenant, waiter: Waiter): void {
    tenant.waiting.delete(waiter);
    if (tenant.waiting.size === 0) this.#line.delete(tenant);
    this.#forgetIdle(tenant);
  }

  #forgetIdle(tenant: Tenant): void {
    if (tenant.inFlight === 0 && tenant.waiting.size === 0) this.#tenants.delete(tenant.namespace);
  }

  #begin(tenant: Tenant): () => void {
    const place = { of: tenant, begunMs: this.#clock.monotonicMs() };
    this.#places.add(place);
    this.#counting.add(place);
    tenant.inFlight += 1;
    tenant.counting += 1;
    return () => this.#end(place);
  }

  #end(place: Place): void {
    if (!this.#places.delete(place)) return;
    place.of.inFlight -= 1;
    this.#countNoMore(place);
    this.#forgetIdle(place.of);
    this.#next();
  }

  #countNoMore(place: Place): void {
    if (this.#counting.delete(place)) place.of.counting -= 1;
  }

  /** Lets in as many as there is room for, and looks again when the earliest call that counts begins to take long. */
  #next(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#dropSlow(nowMs);
    for (let tenant = this.#whoseTurn(); tenant !== undefined; tenant = this.#whoseTurn()) this.#letIn(tenant);
    this.#stopTimer?.();
    const [earliest] = this.#counting;
    const lookAgain = this.#line.size > 0 && earliest !== undefined;
    this.#stopTimer = lookAgain
      ? this.#clock.after(earliest.begunMs + this.#limits.slowMs - nowMs, () => this.#next())
      : undefined;
  }

  /** Undefined: nobody can begin a call now. */
  #whoseTurn(): Tenant | undefined {
    if (this.#counting.size >= this.#limits.most) return undefined;
    const free = this.#limits.inAll - this.#places.size;
    let next: Tenant | undefined;
    for (const tenant of this.#line) {
      const isFewer = next === undefined || tenant.counting < next.counting;
      if (isFewer && isOneMoreLeft(tenant.inFlight, free, this.#limits.inAll)) next = tenant;
    }
    return next;
  }

  #letIn(tenant: Tenant): void {
    const [waiter] = tenant.waiting;
    this.#line.delete(tenant);
    if (waiter === undefined) return;
    waiter.go();
    tenant.waiting.delete(waiter);
    if (tenant.waiting.size > 0) this.#line.add(tenant); // at its end
  }

  #dropSlow(nowMs: number): void {
    for (const place of this.#counting) {
      if (place.begunMs + this.#limits.slowMs > nowMs) return;
      this.#countNoMore(place);
    }
  }
}
