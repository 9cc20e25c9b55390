import { expect, test } from "vitest";
import { LeaseServer } from "#kit/servers/kube-lease-server.ts";
import { GROUP, holderOf, type Member, member, namesOn } from "#kit/sweeps/group-member.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { rollOf } from "./lease-roll.ts";

/** Blocks the writes of `one` until one is sent; later ones fail. @returns lets that one continue */
async function heldUp(one: Member, server: LeaseServer, clock: FakeClock): Promise<() => void> {
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  server.heldUp = () => {
    isHeld = true;
    return gate.promise;
  };
  one.writes = "late";
  while (!isHeld) await clock.advance(50);
  one.writes = "lost";
  return gate.resolve;
}

/**
 * For a minute while `x` cannot write: all others of its group leave after seeing the stored counts for their time.
 * Then `x` cannot read either.
 */
async function neverBoth(x: Member, others: Member[], z: Member, clock: FakeClock) {
  for (let passedMs = 0; passedMs < 60_000; passedMs += 100) {
    if (passedMs === 17_500) {
      for (const each of others) each.end();
      x.fate = "lost";
    }
    await clock.advance(100);
    expect([passedMs, x.lease.mayAct() && z.lease.mayAct()]).toEqual([passedMs, false]);
  }
  expect(z.lease.mayAct()).toBe(true);
}

test.each([
  ["of one of many processes", 30_000],
  ["of the first process", 0],
])("a renewal that is stored late never lets two groups act at once: %s", async (_which, livesMs) => {
  const [clock, server] = [new FakeClock(undefined, 5), new LeaseServer()];
  const first = member("y", server, clock);
  await clock.advance(5_000);
  const x = member("x", server, clock);
  await clock.advance(livesMs);
  const arrives = await heldUp(x, server, clock);
  const others = [first, ...Array.from({ length: 8 }, (_, n) => member(`y${n}`, server, clock))];
  await clock.advance(3_500);
  x.writes = "arrives";
  while ((rollOf(server.lease, GROUP).get("x")?.silentMs ?? 0) < 30_000) await clock.advance(100);
  x.writes = "lost";
  arrives();
  const z = member("z", server, clock, { group: "shards-rule2-of-5" });
  await neverBoth(x, others, z, clock);
  for (const each of [x, z, ...others]) each.end();
  await clock.advance(5_000);
});

test("a renewal that arrives after its process has left is not stored", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const [x, y] = [member("x", server, clock), member("y", server, clock)];
  await clock.advance(20_000);
  const arrives = await heldUp(x, server, clock);
  x.writes = "arrives";
  await x.leave();
  expect(namesOn(server)).toEqual(["y"]);
  arrives();
  await clock.advance(1_000);
  expect(namesOn(server)).toEqual(["y"]);
  await y.leave();
  expect(holderOf(server)).toBe("");
});

test("a process that leaves a recreated lease does not release it while a process that it has not seen may act", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const y = member("y", server, clock);
  const z = member("z", server, clock, { group: "shards-rule2-of-5" });
  await clock.advance(10_000);
  y.fate = "lost";
  const x = member("x", server, clock);
  await clock.advance(1_000);
  expect(x.lease.mayAct()).toBe(true);
  x.fate = "lost";
  server.lease = undefined;
  y.fate = "arrives";
  while (server.lease === undefined) await clock.advance(100);
  y.end();
  for (let passedMs = 0; passedMs < 20_000; passedMs += 100) {
    await clock.advance(100);
    expect([passedMs, x.lease.mayAct() && z.lease.mayAct()]).toEqual([passedMs, false]);
  }
  expect(z.lease.mayAct()).toBe(true);
  for (const each of [x, z]) each.end();
  await clock.advance(5_000);
});
