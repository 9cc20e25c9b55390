import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "#base/clock.ts";
import { type Fate, LeaseServer } from "#kit/servers/kube-lease-server.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { Election, type Term } from "./lease.ts";
import { LeasePair } from "./lease-pair.ts";

/** Leases that a process needs; a release before the second lease knows only the one of its own namespace. */
interface Leases {
  readonly own: LeaseServer;
  readonly whole?: LeaseServer;
}

/**
 * A process that starts again whenever it ends, until `end()`. Its timers stop while it is frozen, and then fire late.
 */
class Contender {
  fate: Fate = "arrives";
  /** Fate of calls for the own lease only. */
  ownFate: Fate | undefined;
  frozen = false;
  travelMs = 0;
  stop = new AbortController();
  readonly #name: string;
  readonly #clock: FakeClock;
  #isDead = false;
  #leader: Pick<Election, "mayAct"> | undefined;

  constructor(name: string, leases: Leases, clock: FakeClock) {
    this.#name = name;
    this.#clock = clock;
    void this.#live(leases);
  }

  mayAct(): boolean {
    return this.#leader?.mayAct() === true;
  }

  /** Ends the process as SIGTERM does; it does not start again. */
  end(): void {
    this.#isDead = true;
    this.stop.abort();
  }

  async #live({ own, whole }: Leases): Promise<void> {
    for (let start = 0; !this.#isDead; start++) {
      const identity = `${this.#name}-${start}`;
      const lost = new AbortController();
      const term: Term = { onStarted: untilAborted, onStopped: () => lost.abort() };
      const first = this.#election(own, identity, () => this.ownFate ?? this.fate);
      const leader =
        whole === undefined
          ? first
          : new LeasePair(
              first,
              this.#election(whole, identity, () => this.fate),
            );
      this.#leader = leader;
      await leader.run(AbortSignal.any([this.stop.signal, lost.signal]), term);
      if (!this.#isDead) this.stop = new AbortController();
      await this.#clock.sleep(1_000);
    }
  }

  #election(server: LeaseServer, identity: string, fate: () => Fate): Election {
    const wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
      await this.#clock.sleep(ms, signal);
      while (this.frozen) await this.#clock.sleep(50);
    };
    const clock: Clock = {
      wallMs: () => this.#clock.wallMs(),
      monotonicMs: () => this.#clock.monotonicMs(),
      sleep: wait,
      after: (ms, run) => this.#clock.after(ms, run),
    };
    const client = server.client(fate, () => wait(this.travelMs));
    return new Election({ client, namespace: "default", name: "operator", identity, clock });
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

function acting(all: readonly Contender[]): number {
  return all.filter((each) => each.mayAct()).length;
}

function setUp() {
  const clock = new FakeClock();
  const [here, elsewhere, whole] = [new LeaseServer(), new LeaseServer(), new LeaseServer()];
  const contender = (name: string, leases: Leases): Contender => new Contender(name, leases, clock);
  const end = async (...all: Contender[]): Promise<void> => {
    for (const each of all) Object.assign(each, { fate: "arrives", ownFate: undefined, frozen: false, travelMs: 0 });
    for (const each of all) each.end();
    await clock.advance(60_000);
  };
  return { clock, here, elsewhere, whole, contender, end };
}

describe("with a lease of the installation and a lease of the whole cluster,", () => {
  test("a process leads when it holds both, and releases both at its end", async () => {
    const { clock, here, whole, contender, end } = setUp();
    const a = contender("a", { own: here, whole });
    await clock.advance(0);
    expect(a.mayAct()).toBe(true);
    expect([here, whole].map(({ lease }) => lease?.spec?.holderIdentity)).toEqual(["a-0", "a-0"]);
    await end(a);
    expect([here, whole].map(({ lease }) => lease?.spec?.holderIdentity ?? "")).toEqual(["", ""]);
  });

  test("a second installation waits with its own lease, and leads when the first one ends", async () => {
    const { clock, here, elsewhere, whole, contender, end } = setUp();
    const a = contender("a", { own: here, whole });
    await clock.advance(1_000);
    const b = contender("b", { own: elsewhere, whole });
    await clock.advance(60_000);
    expect(elsewhere.lease?.spec?.holderIdentity).toBe("b-0");
    expect([a, b].map((each) => each.mayAct())).toEqual([true, false]);
    await end(a);
    expect(b.mayAct()).toBe(true);
    await end(b);
  });

  test("a process waits for a leader of an older release without acquiring the lease of the whole cluster", async () => {
    const { clock, here, whole, contender, end } = setUp();
    const older = contender("older", { own: here });
    await clock.advance(1_000);
    const a = contender("a", { own: here, whole });
    await clock.advance(60_000);
    expect([older, a].map((each) => each.mayAct())).toEqual([true, false]);
    expect(whole.lease).toBeUndefined();
    await end(older, a);
  });

  test("the next process leads one lease duration, not two, after a leader with both leases died", async () => {
    const { clock, here, whole, contender, end } = setUp();
    const a = contender("a", { own: here, whole });
    await clock.advance(1_000);
    const b = contender("b", { own: here, whole });
    await clock.advance(10_000);
    Object.assign(a, { fate: "lost", frozen: true });
    await clock.advance(22_000);
    expect([a, b].map((each) => each.mayAct())).toEqual([false, true]);
    await end(a, b);
  });

  test("a process that cannot renew its own lease stops acting, even while it holds the other and its timers stop", async () => {
    const { clock, here, whole, contender, end } = setUp();
    const a = contender("a", { own: here, whole });
    await clock.advance(4_500);
    a.ownFate = "lost";
    await clock.advance(5_000);
    expect(a.mayAct()).toBe(true);
    a.frozen = true;
    await clock.advance(6_000);
    expect(a.mayAct()).toBe(false);
    await end(a);
  });
});

test("two leases: with any failures of network and processes, at most one leads, and one leads soon afterwards", async () => {
  const contenderIndex = fc.integer({ min: 0, max: 4 });
  const fates = fc.constantFrom<Fate>("arrives", "arrives", "arrives", "lost", "reply-lost");
  const fault = fc.oneof(
    fc.record({ do: fc.constant("network" as const), contenderIndex, fate: fates }),
    fc.record({ do: fc.constant("freeze" as const), contenderIndex }),
    fc.record({ do: fc.constant("slow" as const), contenderIndex, ms: fc.integer({ min: 0, max: 12_000 }) }),
    fc.record({ do: fc.constant("restart" as const), contenderIndex }),
  );
  const event = fc.record({ fault, thenMs: fc.integer({ min: 10, max: 12_000 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 25, size: "max" }), async (events) => {
      const { clock, here, elsewhere, whole, contender, end } = setUp();
      const older = contender("4", { own: here });
      const pairsHere = ["0", "1"].map((name) => contender(name, { own: here, whole }));
      const pairs = [...pairsHere, ...["2", "3"].map((name) => contender(name, { own: elsewhere, whole }))];
      const all = [...pairs, older];
      const advance = async (ms: number): Promise<void> => {
        for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
          await clock.advance(Math.min(500, leftMs));
          expect(acting([...pairsHere, older])).toBeLessThanOrEqual(1);
          expect(acting(pairs)).toBeLessThanOrEqual(1); // an older release does not know of other installations
        }
      };
      for (const { fault: each, thenMs } of events) {
        const one = all[each.contenderIndex] as Contender;
        if (each.do === "network") one.fate = each.fate;
        else if (each.do === "freeze") one.frozen = !one.frozen;
        else if (each.do === "slow") one.travelMs = each.ms;
        else one.stop.abort();
        await advance(thenMs);
      }
      for (const each of all) Object.assign(each, { fate: "arrives", frozen: false, travelMs: 0 });
      let waitedMs = 0;
      for (; acting(all) === 0 && waitedMs < 60_000; waitedMs += 500) await advance(500);
      expect(waitedMs).toBeLessThan(40_000);
      await end(...all);
    }),
    { numRuns: 20 },
  );
});
