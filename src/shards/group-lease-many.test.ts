import { expect, test } from "vitest";
import { LeaseServer, slowStore } from "#kit/servers/kube-lease-server.ts";
import { GROUP, type Member, member } from "#kit/sweeps/group-member.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { rollOf } from "./lease-roll.ts";

test("a process that cannot write stops acting in time, and in a large group only later", async () => {
  for (const [count, permittedMs] of [
    [2, 10_000],
    [8, 20_000],
  ] as const) {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    const all = Array.from({ length: count }, (_, n) => member(`p${n}`, server, clock));
    await clock.advance(40_000);
    const [a] = all;
    a!.writes = "lost";
    const startMs = clock.monotonicMs();
    while (a!.lease.mayAct()) await clock.advance(100);
    const endedMs = clock.monotonicMs() - startMs;
    expect([count, endedMs <= permittedMs, endedMs > permittedMs / 2]).toEqual([count, true, true]);
    expect(all.filter(({ lease }) => lease.mayAct()).length).toBe(count - 1);
    for (const { stop } of all) stop.abort();
    await clock.advance(5_000);
  }
});

test.each([
  ["a network that takes half a second for each way", 16, 500, 0],
  ["a store that takes a fifth of a second for each change", 16, 50, 200],
  ["a store that takes four tenths of a second for each change", 16, 50, 400],
])("sixteen processes share a lease without a gap, with %s", async (_title, count, travelMs, storeMs) => {
  const [clock, server] = [new FakeClock(undefined, 1), new LeaseServer()];
  if (storeMs > 0) server.store = slowStore(clock, storeMs);
  const all = Array.from({ length: count }, (_, n) => member(`p${n}`, server, clock, { travelMs }));
  const other = member("other", server, clock, { group: "shards-rule2-of-5", travelMs });
  await clock.advance(40_000);
  for (let passedMs = 0; passedMs < 120_000; passedMs += 250) {
    await clock.advance(250);
    expect(all.filter(({ lease }) => !lease.mayAct())).toEqual([]);
    expect(other.lease.mayAct()).toBe(false);
  }
  expect(all[0]?.lease.alive().length).toBe(count);
  for (const { stop } of [...all, other]) stop.abort();
  await clock.advance(10_000);
});

test.each([
  [4, 16, 0.99],
  [3, 8, 0.5],
  [1, 16, 0],
])("of %d new processes none stops acting when the group grows to %d", async (few, many, random) => {
  const [clock, server] = [new FakeClock(undefined, 1), new LeaseServer()];
  const before = Array.from({ length: few }, (_, n) => member(`a${n}`, server, clock, { random }));
  await clock.advance(3_000);
  const all = [...before, ...Array.from({ length: many - few }, (_, n) => member(`b${n}`, server, clock, { random }))];
  await clock.advance(3_000);
  for (let passedMs = 0; passedMs < 40_000; passedMs += 100) {
    await clock.advance(100);
    expect([passedMs, all.filter(({ lease }) => !lease.mayAct()).length]).toEqual([passedMs, 0]);
  }
  for (const each of all) each.end();
  await clock.advance(10_000);
});

test("forty processes, more than the largest number of shards, hold a lease without a gap", async () => {
  const [clock, server] = [new FakeClock(undefined, 1), new LeaseServer()];
  const all = Array.from({ length: 40 }, (_, n) => member(`p${n}`, server, clock, { random: 0.9 }));
  await clock.advance(30_000);
  for (let passedMs = 0; passedMs < 90_000; passedMs += 250) {
    await clock.advance(250);
    expect([passedMs, all.filter(({ lease }) => !lease.mayAct()).length]).toEqual([passedMs, 0]);
  }
  for (const each of all) each.end();
  await clock.advance(10_000);
});

test.each([
  [2, 15_000],
  [8, 30_000],
  [16, 45_000],
])("in a group of %d processes each announces that others must wait for it for %d ms", async (count, silentMs) => {
  const [clock, server] = [new FakeClock(undefined, 1), new LeaseServer()];
  const all = Array.from({ length: count }, (_, n) => member(`p${n}`, server, clock));
  await clock.advance(60_000);
  const announcedMs = [...rollOf(server.lease, GROUP).values()].map((each) => each.silentMs);
  expect(announcedMs).toEqual(all.map(() => silentMs));
  for (const each of all) each.end();
  await clock.advance(5_000);
});

test.each([
  [2, 700],
  [8, 300],
])(
  "in a group of %d a disconnected process acts for ten seconds after its last stored renewal or its second last read",
  async (count, travelMs) => {
    for (let cutMs = 0; cutMs < 8_000; cutMs += 500) {
      const [clock, server] = [new FakeClock(undefined, 1), new LeaseServer()];
      const all: Member[] = [];
      for (let n = 0; n < count; n++) {
        all.push(member(`p${n}`, server, clock, { travelMs }));
        await clock.advance(370);
      }
      await clock.advance(40_000 + cutMs);
      const { lease, answered } = Object.assign(all[0]!, { fate: "lost" });
      while (lease.mayAct()) await clock.advance(50);
      const countedMs = answered.findLast(({ verb }) => verb === "patch")?.sentMs ?? 0;
      const untilMs = Math.max(answered.at(-2)?.sentMs ?? 0, countedMs) + 10_000;
      expect({ cutMs, isInTime: clock.monotonicMs() < untilMs + 50 }).toEqual({ cutMs, isInTime: true });
      for (const each of all) each.end();
      await clock.advance(5_000);
    }
  },
);

test("a renewal that was not stored is sent again after the next read", async () => {
  const [clock, server] = [new FakeClock(undefined, 1), new LeaseServer()];
  const all = Array.from({ length: 16 }, (_, n) => member(`p${n}`, server, clock));
  await clock.advance(60_000);
  const [a] = all;
  const countOf = () => rollOf(server.lease, GROUP).get("p0")?.count ?? 0;
  const [before, sent] = [countOf(), a!.sentPatches];
  a!.writes = "lost";
  while (a!.sentPatches === sent) await clock.advance(100);
  a!.writes = "arrives";
  await clock.advance(2_500);
  expect(countOf()).toBe(before + 2);
  for (const each of all) each.end();
  await clock.advance(5_000);
});
