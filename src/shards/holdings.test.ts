import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Fate, slowStore } from "#kit/servers/kube-lease-server.ts";
import { shardFleet as setUp } from "#kit/sweeps/shard-fleet.ts";
import { Leases, type ShardProcess } from "#kit/sweeps/shard-process.ts";

describe("shards", () => {
  test("three processes that start together lead one shard each, and no shard moves afterwards", async () => {
    const { leases, process, advance, untilLed, end } = setUp();
    const all = ["a", "b", "c"].map((name) => process(name, 3));
    expect(await untilLed()).toBeLessThan(8_000);
    expect(all.map(({ leads }) => leads.length)).toEqual([1, 1, 1]);
    await advance(120_000);
    expect([0, 1, 2].map((shard) => leases.shard(shard).lease?.spec?.leaseTransitions)).toEqual([0, 0, 0]);
    expect(leases.own.lease?.spec?.holderIdentity).toBe("shards-rule2-of-3");
    expect(leases.own.lease?.spec?.leaseTransitions).toBe(0);
    await end();
    expect([leases.own, leases.whole, leases.shard(0)].map(({ lease }) => lease?.spec?.holderIdentity)).toEqual([
      "",
      "",
      "",
    ]);
  });

  test("a single process leads all shards, and gives one to each new process", async () => {
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

  test("a dead process is replaced within one lease duration by a process with filled caches", async () => {
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

  test("a process that renews again before its lease expires keeps its shard", async () => {
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

  test("when a process ends gracefully, another process leads its shards within seconds", async () => {
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

  test("processes with another number of shards wait until the last process with the old number has ended", async () => {
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

  test("processes with another number of shards take over from killed processes after one lease duration", async () => {
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

  test("when shards are turned on or off, new processes wait until the old ones have ended", async () => {
    const { leases, process, advance, untilLed, end } = setUp();
    const one = process("one", 1);
    expect(await untilLed()).toBe(500);
    const many = process("many", 3);
    await advance(30_000);
    expect([one.leads, many.leads]).toEqual([[0], []]);
    one.restart(3);
    await advance(500);
    expect(await untilLed()).toBeLessThan(9_000);
    expect(leases.own.lease?.spec?.holderIdentity).toBe("shards-rule2-of-3");
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

  test("of two installations with equally many shards one leads, and the other waits until its processes have ended", async () => {
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

  test("a process that cannot renew the group's lease stops acting, even with its shards' leases and stopped timers", async () => {
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

  test("a process that loses only its shards' leases, and acquires them again, leads the shards with new work", async () => {
    const { process, advance, untilLed, end } = setUp();
    const a = process("a", 2);
    await untilLed();
    a.groupFate = "arrives";
    a.fate = "lost";
    await advance(12_000);
    expect(a.leads).toEqual([]);
    a.fate = "arrives";
    await advance(500);
    expect(await untilLed()).toBeLessThan(3_000);
    expect(a.terms.map(({ shard }) => shard).toSorted()).toEqual([0, 0, 1, 1]);
    await end();
  });

  test("a process that loses only the group's leases for a while leads its shards with new work", async () => {
    const { process, advance, untilLed, end } = setUp();
    const a = process("a", 2);
    await untilLed();
    a.groupFate = "lost";
    await advance(13_000);
    expect(a.leads).toEqual([]);
    a.groupFate = "arrives";
    await advance(500);
    expect(await untilLed()).toBeLessThan(10_000);
    expect(a.terms.map(({ shard }) => shard).toSorted()).toEqual([0, 0, 1, 1]);
    await end();
  });

  test("a process that is stopped while the API server does not respond ends within five seconds after its work", async () => {
    const { process, advance, untilLed, end } = setUp();
    const a = process("a", 3);
    await untilLed();
    await advance(5_000);
    a.travelMs = 60_000;
    a.end();
    await advance(4_500);
    expect(a.hasEnded).toBe(true);
    await end();
  });

  test("sixteen processes permanently lead one shard each with an API server that takes half a second per request", async () => {
    const { leases, clock, process, advance, untilLed, end } = setUp();
    for (const server of [leases.own, leases.whole]) server.store = slowStore(clock, 400);
    const all = Array.from({ length: 16 }, (_, n) => process(`p${n}`, 16));
    for (const each of all) each.travelMs = 50;
    expect(await untilLed()).toBeLessThan(60_000);
    await advance(60_000);
    for (let passedMs = 0; passedMs < 60_000; passedMs += 1_000) {
      await advance(1_000);
      expect(all.map(({ leads }) => leads.length)).toEqual(all.map(() => 1));
    }
    all[3]?.kill();
    await advance(11_000);
    expect(await untilLed()).toBeLessThan(22_000 - 11_000);
    for (const server of [leases.own, leases.whole]) server.store = undefined;
    await end();
  });

  test.each([
    [4, 16],
    [3, 3],
  ])(
    "%d processes with %d shards prepare no new work when the API server is silent for a few seconds",
    async (count, shards) => {
      const { process, advance, untilLed, longestGap, end, all } = setUp();
      for (let n = 0; n < count; n++) process(`p${n}`, shards);
      await untilLed();
      await advance(40_000);
      longestGap();
      const before = all.map(({ terms }) => terms.length);
      // Refused at once, or not answered at all: then the next renewal is sent only when the last one has timed out.
      for (const [fate, travelMs, longestMs] of [
        ["lost", 0, 6_000],
        ["arrives", 60_000, 5_000],
      ] as const)
        for (let silentMs = 1_000; silentMs <= longestMs; silentMs += 1_000) {
          for (const each of all) Object.assign(each, { fate, travelMs });
          await advance(silentMs);
          for (const each of all) Object.assign(each, { fate: "arrives", travelMs: 0 });
          await advance(20_300);
          expect([fate, silentMs, all.map(({ terms }) => terms.length)]).toEqual([fate, silentMs, before]);
        }
      expect(longestGap()).toBe(0);
      await end();
    },
  );

  test.each([
    [4, 16],
    [3, 3],
    [2, 3],
    [3, 4],
  ])(
    "%d processes with %d shards lead the same shards again after the API server was silent",
    async (count, shards) => {
      const { process, advance, untilLed, end, all } = setUp();
      for (let n = 0; n < count; n++) process(`p${n}`, shards);
      await untilLed();
      await advance(40_000);
      const before = all.map(({ leads }) => leads);
      for (let silentMs = 8_000; silentMs <= 40_000; silentMs += 8_000) {
        const termsBefore = all.map(({ terms }) => terms.length);
        for (const each of all) each.fate = "lost";
        await advance(silentMs);
        for (const each of all) each.fate = "arrives";
        expect([silentMs, await untilLed()]).toEqual([silentMs, expect.toSatisfy((ms: number) => ms <= 22_000)]);
        await advance(20_000);
        expect([silentMs, all.map(({ leads }) => leads.toSorted((a, b) => a - b))]).toEqual([silentMs, before]);
        const others = all.flatMap(({ terms }, n) =>
          terms.slice(termsBefore[n]).filter(({ shard }) => before[n]?.includes(shard) === false),
        );
        expect([silentMs, others.length]).toEqual([silentMs, expect.toSatisfy((n: number) => n <= 1)]);
      }
      await end();
    },
  );

  test.each([
    [4, 12],
    [2, 16],
  ])(
    "when %d processes become %d, each shard that is given back is led again within three seconds",
    async (few, many) => {
      const { process, advance, untilLed, longestGap, end, all } = setUp();
      for (let n = 0; n < few; n++) process(`a${n}`, 16);
      await untilLed();
      await advance(40_000);
      longestGap();
      for (let n = few; n < many; n++) process(`b${n}`, 16);
      await advance(40_000);
      expect(longestGap()).toBeLessThanOrEqual(3_000);
      const counts = all.map(({ leads }) => leads.length);
      expect([Math.min(...counts), Math.max(...counts)]).toEqual([1, Math.ceil(16 / many)]);
      await end();
    },
  );

  test("the lease of a shard is held until its work has ended, and no other process leads it before", async () => {
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

test("whatever fails, no cluster has two leaders, and each cluster has one soon after", async () => {
  const processIndex = fc.integer({ min: 0, max: 4 });
  const fates = fc.constantFrom<Fate>("arrives", "arrives", "arrives", "lost", "reply-lost", "late");
  const fault = fc.oneof(
    fc.record({ do: fc.constant("network" as const), processIndex, fate: fates }),
    fc.record({ do: fc.constant("group network" as const), processIndex, fate: fates }),
    // As when the API server is silent.
    fc.record({ do: fc.constant("all networks" as const), processIndex, ms: fc.integer({ min: 1_000, max: 12_000 }) }),
    fc.record({ do: fc.constant("freeze" as const), processIndex }),
    fc.record({ do: fc.constant("slow" as const), processIndex, ms: fc.integer({ min: 0, max: 6_000 }) }),
    fc.record({ do: fc.constant("drain" as const), processIndex, ms: fc.integer({ min: 0, max: 20_000 }) }),
    fc.record({ do: fc.constant("restart" as const), processIndex, shards: fc.integer({ min: 1, max: 4 }) }),
    // As during a rollout of a Deployment: all of them change their number of shards, one after the other.
    fc.record({ do: fc.constant("all" as const), processIndex, shards: fc.integer({ min: 1, max: 4 }) }),
  );
  const event = fc.record({ fault, thenMs: fc.integer({ min: 10, max: 12_000 }) });
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(event, { minLength: 5, maxLength: 25, size: "max" }), async (seed, events) => {
      const { leases, process, advance, untilLed, end } = setUp(seed);
      const elsewhere = new Leases("there", leases.whole);
      const here = ["0", "1", "2", "3"].map((name) => process(name, 3));
      const all = [...here, process("4", 3, elsewhere)];
      for (const { fault: each, thenMs } of events) {
        const one = all[each.processIndex] as ShardProcess;
        if (each.do === "network") one.fate = each.fate;
        else if (each.do === "group network") one.groupFate = each.fate;
        else if (each.do === "all networks") {
          const fates = all.map(({ fate }) => fate);
          for (const other of all) other.fate = "lost";
          await advance(each.ms);
          for (const [n, other] of all.entries()) other.fate = fates[n] ?? "arrives";
        } else if (each.do === "freeze") one.frozen = !one.frozen;
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
