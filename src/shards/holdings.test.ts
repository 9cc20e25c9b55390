import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "#kit/fake-clock.ts";
import type { Fate } from "#kit/kube-lease-server.ts";
import { Leases, ShardProcess } from "#kit/shard-process.ts";
import { shardNumber } from "./belonging.ts";

/** So many clusters that every shard has some. */
const CLUSTERS = Array.from({ length: 24 }, (_, n) => `etcd-${n}`);

const shardsOfClusters = new Map<number, readonly number[]>();

/** To which of so many shards each of the clusters belongs. */
function shardsOf(of: number): readonly number[] {
  const known = shardsOfClusters.get(of) ?? CLUSTERS.map((name) => shardNumber("fleet", name, of));
  shardsOfClusters.set(of, known);
  return known;
}

function setUp() {
  const clock = new FakeClock(undefined, 1);
  const leases = new Leases("here");
  const all: ShardProcess[] = [];
  const process = (name: string, shards: number, of = leases): ShardProcess => {
    const made = new ShardProcess(name, shards, of, clock);
    all.push(made);
    return made;
  };
  /** How many may act on each cluster at this moment; dead terms count, too. */
  const deciders = (): readonly number[] => {
    const acting = all.flatMap(({ terms }) => terms.filter(({ mayAct }) => mayAct()));
    return CLUSTERS.map((_, cluster) => acting.filter(({ shard, of }) => shardsOf(of)[cluster] === shard).length);
  };
  const advance = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
      await clock.advance(Math.min(500, leftMs));
      expect(Math.max(...deciders())).toBeLessThanOrEqual(1);
    }
  };
  /** @returns milliseconds until each cluster has somebody who decides about it; Infinity when that takes too long */
  const untilLed = async (withinMs = 60_000): Promise<number> => {
    for (let waitedMs = 0; waitedMs <= withinMs; waitedMs += 500) {
      if (deciders().every((count) => count === 1)) return waitedMs;
      await advance(500);
    }
    return Number.POSITIVE_INFINITY;
  };
  const end = async (): Promise<void> => {
    for (const each of all)
      Object.assign(each, { fate: "arrives", groupFate: undefined, frozen: false, travelMs: 0 }).end();
    await clock.advance(60_000);
  };
  return { clock, leases, process, advance, untilLed, end, all };
}

describe("shards", () => {
  test("three processes that start together lead one each, and nothing changes hands afterwards", async () => {
    const { leases, process, advance, untilLed, end } = setUp();
    const all = ["a", "b", "c"].map((name) => process(name, 3));
    expect(await untilLed()).toBeLessThan(8_000);
    expect(all.map(({ leads }) => leads.length)).toEqual([1, 1, 1]);
    await advance(120_000);
    expect([0, 1, 2].map((shard) => leases.shard(shard).lease?.spec?.leaseTransitions)).toEqual([0, 0, 0]);
    expect(leases.own.lease?.spec?.holderIdentity).toBe("shards-rule1-of-3");
    expect(leases.own.lease?.spec?.leaseTransitions).toBe(0);
    await end();
    expect([leases.own, leases.whole, leases.shard(0)].map(({ lease }) => lease?.spec?.holderIdentity)).toEqual([
      "",
      "",
      "",
    ]);
  });

  test("a process alone leads all, and gives one to each that comes", async () => {
    const { process, advance, untilLed, end } = setUp();
    const a = process("a", 3);
    expect(await untilLed()).toBeLessThan(8_000);
    expect(a.leads.length).toBe(3);
    const b = process("b", 3);
    await advance(15_000);
    const c = process("c", 3);
    await advance(15_000);
    expect([a, b, c].map(({ leads }) => leads.length)).toEqual([1, 1, 1]);
    await end();
  });

  test("a process that dies is followed by another one within one lease's time, and who follows has prepared for it", async () => {
    const { process, advance, untilLed, end } = setUp();
    const [a, b] = [process("a", 2), process("b", 2)];
    await untilLed();
    await advance(20_000);
    expect([a.leads.length, b.leads.length]).toEqual([1, 1]);
    const before = a.terms.length;
    b.kill();
    await advance(11_500);
    expect(a.terms.length).toBe(before + 1);
    expect(a.leads.length).toBe(1);
    expect(await untilLed()).toBeLessThanOrEqual(18_000 - 11_500);
    expect(a.leads.length).toBe(2);
    await end();
  });

  test("who renews after all keeps its shard, and whoever has prepared for it lets go", async () => {
    const { process, advance, untilLed, end } = setUp();
    const [a, b] = [process("a", 2), process("b", 2)];
    await untilLed();
    await advance(20_000);
    b.fate = "lost";
    await advance(8_000);
    b.fate = "arrives";
    await advance(20_000);
    expect([a.leads.length, b.leads.length]).toEqual([1, 1]);
    await end();
  });

  test("after a graceful end others lead within seconds", async () => {
    const { process, advance, untilLed, end } = setUp();
    const [a, b] = [process("a", 3), process("b", 3)];
    await untilLed();
    await advance(20_000);
    b.end();
    await advance(500);
    expect(await untilLed()).toBeLessThan(4_000);
    expect(a.leads.length).toBe(3);
    await end();
  });

  test("another number of shards is waited for until the last process with the old one has ended, and no longer", async () => {
    const { process, advance, untilLed, end } = setUp();
    const [a, b] = [process("a", 2), process("b", 2)];
    await untilLed();
    const [c, d] = [process("c", 5), process("d", 5)];
    await advance(60_000);
    expect([c.leads, d.leads]).toEqual([[], []]);
    a.end();
    await advance(30_000);
    expect(b.leads.length).toBe(2);
    expect([c.leads, d.leads]).toEqual([[], []]);
    b.end();
    await advance(2_500);
    expect(await untilLed()).toBeLessThan(8_000);
    expect([c.leads.length, d.leads.length].toSorted()).toEqual([2, 3]);
    await end();
  });

  test("another number of shards takes over from processes that were killed after one lease's time", async () => {
    const { process, advance, untilLed, end } = setUp();
    const [a, b] = [process("a", 2), process("b", 2)];
    await untilLed();
    const c = process("c", 3);
    await advance(20_000);
    a.kill();
    b.kill();
    await advance(11_000);
    expect(await untilLed()).toBeLessThan(23_000 - 11_000);
    expect(c.leads.length).toBe(3);
    await end();
  });

  test("without shards, and back: an operator that leads alone is waited for, and waits", async () => {
    const { leases, process, advance, untilLed, end } = setUp();
    const one = process("one", 1);
    expect(await untilLed()).toBe(500);
    const many = process("many", 3);
    await advance(30_000);
    expect([one.leads, many.leads]).toEqual([[0], []]);
    one.restart(3);
    await advance(500);
    expect(await untilLed()).toBeLessThan(9_000);
    expect(leases.own.lease?.spec?.holderIdentity).toBe("shards-rule1-of-3");
    const late = process("late", 1);
    await advance(30_000);
    expect(late.leads).toEqual([]);
    one.end();
    many.end();
    await advance(500);
    expect(await untilLed()).toBeLessThan(5_000);
    expect(late.leads).toEqual([0]);
    await end();
  });

  test("of two installations with as many shards one leads, the other waits until it has ended", async () => {
    const { leases, process, advance, untilLed, end } = setUp();
    const elsewhere = new Leases("there", leases.whole);
    const here = [process("a", 2), process("b", 2)];
    await untilLed();
    const there = process("c", 2, elsewhere);
    await advance(60_000);
    expect(there.leads).toEqual([]);
    for (const each of here) each.end();
    await advance(500);
    expect(await untilLed()).toBeLessThan(10_000);
    expect(there.leads.length).toBe(2);
    await end();
  });

  test("who could not renew for the group acts no more, also while it holds its shards' leases and its timers stand still", async () => {
    const { process, advance, untilLed, end } = setUp();
    const a = process("a", 2);
    await untilLed();
    a.groupFate = "lost";
    await advance(6_500);
    expect(a.leads.length).toBe(2);
    a.frozen = true;
    await advance(4_000);
    expect(a.leads).toEqual([]);
    a.groupFate = undefined;
    await end();
  });

  test("a lease is kept while work goes on, and nobody else leads meanwhile", async () => {
    const { process, advance, untilLed, end } = setUp();
    const a = process("a", 2);
    await untilLed();
    a.drainMs = 5_000;
    const b = process("b", 2);
    await advance(30_000);
    expect([a.leads.length, b.leads.length]).toEqual([1, 1]);
    expect(a.terms.filter(({ isWorking }) => isWorking).length).toBe(1);
    await end();
  });
});

test("never two deciders for one cluster, and one soon after all is well, whatever network, processes and the number of shards do", async () => {
  const who = fc.integer({ min: 0, max: 4 });
  const fates = fc.constantFrom<Fate>("arrives", "arrives", "arrives", "lost", "reply-lost");
  const fault = fc.oneof(
    fc.record({ do: fc.constant("network" as const), who, fate: fates }),
    fc.record({ do: fc.constant("group network" as const), who, fate: fates }),
    fc.record({ do: fc.constant("freeze" as const), who }),
    fc.record({ do: fc.constant("slow" as const), who, ms: fc.integer({ min: 0, max: 6_000 }) }),
    fc.record({ do: fc.constant("drain" as const), who, ms: fc.integer({ min: 0, max: 20_000 }) }),
    fc.record({ do: fc.constant("restart" as const), who, shards: fc.integer({ min: 1, max: 4 }) }),
    // As a Deployment is rolled out: all of them come to have another number, one after the other.
    fc.record({ do: fc.constant("all" as const), who, shards: fc.integer({ min: 1, max: 4 }) }),
  );
  const event = fc.record({ fault, thenMs: fc.integer({ min: 10, max: 12_000 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 25, size: "max" }), async (events) => {
      const { leases, process, advance, untilLed, end } = setUp();
      const elsewhere = new Leases("there", leases.whole);
      const here = ["0", "1", "2", "3"].map((name) => process(name, 3));
      const all = [...here, process("4", 3, elsewhere)];
      for (const { fault: each, thenMs } of events) {
        const one = all[each.who] as ShardProcess;
        if (each.do === "network") one.fate = each.fate;
        else if (each.do === "group network") one.groupFate = each.fate;
        else if (each.do === "freeze") one.frozen = !one.frozen;
        else if (each.do === "slow") one.travelMs = each.ms;
        else if (each.do === "drain") one.drainMs = each.ms;
        else if (each.do === "restart") one.restart(each.shards);
        else for (const other of here) other.restart(each.shards);
        await advance(thenMs);
      }
      for (const each of all)
        Object.assign(each, { fate: "arrives", groupFate: undefined, frozen: false, travelMs: 0, drainMs: 0 });
      expect(await untilLed()).toBeLessThan(45_000);
      await end();
    }),
    { numRuns: 25 },
  );
});
