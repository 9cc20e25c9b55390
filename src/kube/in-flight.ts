import type { Clock } from "#base/clock.ts";
import { isOneMoreLeft } from "#base/places-left.ts";

// Why bound the calls in flight?
//   Each needs a connection of its own, which over TLS costs 130 kB and a handshake on both sides. A hundred clusters
//   created at once make two hundred concurrent calls. An API server answers those no sooner than thirty
//   (docs/performance.md, `fleet`).
// Why do slow calls not count against `most`?
//   A slow call hangs in an admission webhook, or the server is slow; it must not block other calls. So at least `most`
//   calls begin in every `slowMs`, until `inAll` are in flight.
// Which waiting namespace is next?
//   The one with the fewest counted calls; among equals, the one that has waited longest for a turn. So a namespace
//   with a slow webhook waits behind its own calls, and none has more than an equal share while others wait.
//   A namespace that took every slot while no other waited delays the others by `slowMs` at most.
// What if the calls of a namespace hang?
//   They hold their connections until they end. So one namespace gets at most two thirds of the connections, and later
//   ones ever less of the last third. Connections run out only when seventeen namespaces hang (base/places-left.ts).

export interface InFlightLimits {
  /** Bound on concurrent calls, not counting slow ones; 1 or more. */
  readonly most: number;
  /** Time in flight after which a call is slow, in milliseconds. */
  readonly slowMs: number;
  /** Bound on concurrent calls, slow ones included. */
  readonly inAll: number;
}

/**
 * Bounds for a whole operator:
 *
 * - At 20 ms a call, 32 slots pass 1,600 calls a second, three times the rate limit.
 * - However slow the server is, 160 calls begin each second. At 0.9 s a call, 144 are in flight: more than half of the
 *   throughput of all 256 connections.
 * - A longer `slowMs` lets slow calls block the others. A shorter one overloads a server of 170 calls a second. Such a
 *   server answers 32 at a time within 190 ms, so its calls would count as slow.
 * - No namespace has more than two thirds of `inAll`.
 */
export const DEFAULT_IN_FLIGHT: InFlightLimits = { most: 32, slowMs: 200, inAll: 256 };

/** Slot of a call in flight. */
interface Place {
  readonly of: Tenant;
  /** Monotonic clock. */
  readonly begunMs: number;
}

/** Call that waits for a slot. */
interface Waiter {
  /** Lets the call begin. */
  readonly go: () => void;
  readonly fail: (why: Error) => void;
}

/** Namespace with calls in flight or waiting. */
interface Tenant {
  readonly namespace: string;
  inFlight: number;
  /** Calls in flight that are not slow yet, and so count against `most`. */
  counting: number;
  readonly waiting: Set<Waiter>;
}

/** Bounds concurrent calls, fairly between namespaces. Calls of one namespace begin in order of arrival. */
export class InFlight {
  readonly #clock: Clock;
  readonly #limits: InFlightLimits;
  readonly #places = new Set<Place>();
  /** Calls that are not slow yet, the earliest first. */
  readonly #counting = new Set<Place>();
  /** Key: namespace. */
  readonly #tenants = new Map<string, Tenant>();
  /** Namespaces with waiting calls; first the one without a turn for longest. */
  readonly #line = new Set<Tenant>();
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock, limits: InFlightLimits = DEFAULT_IN_FLIGHT) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Resolves when a call may begin; rejects with the signal's reason, and then takes no slot.
   * @param namespace of the call's object; empty for cluster-scoped calls
   * @returns function to call when the call has ended
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

  /** Rejects every waiting call. */
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

  /** Begins as many calls as there are free slots, and runs again when the earliest counted call becomes slow. */
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

  /** Namespace that may begin a call next; undefined: none may now. */
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
