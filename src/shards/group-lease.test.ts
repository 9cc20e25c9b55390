import { expect, test } from "vitest";
import { LeaseServer } from "#kit/servers/kube-lease-server.ts";
import { GROUP, holderOf, member, namesOn } from "#kit/sweeps/group-member.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { LEASES } from "#kube/kinds.ts";
import { annotationsWith, ROLL_ANNOTATION } from "./lease-roll.ts";

test("processes of a group hold one lease together, each renews, and the last one gives it back", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const [a, b] = [member("a", server, clock), member("b", server, clock)];
  await clock.advance(10_000);
  expect([a, b].map(({ lease }) => lease.mayAct())).toEqual([true, true]);
  expect(holderOf(server)).toBe(GROUP);
  expect(namesOn(server)).toEqual(["a", "b"]);
  expect(a.lease.alive()).toEqual(["a", "b"]);
  await a.leave();
  expect([a, b].map(({ lease }) => lease.mayAct())).toEqual([false, true]);
  expect(holderOf(server)).toBe(GROUP);
  expect(namesOn(server)).toEqual(["b"]);
  await b.leave();
  expect(holderOf(server)).toBe("");
  expect(server.lease?.metadata.annotations).toEqual(annotationsWith(new Map()));
});

test("a process that leaves stops acting before it calls the API server", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  await clock.advance(3_000);
  a.travelMs = 1_000;
  a.stop.abort();
  const left = a.lease.leave();
  expect(a.lease.mayAct()).toBe(false);
  await clock.advance(10_000);
  await left;
});

test("a process that never campaigned leaves without a call of the API server", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  a.stands = false;
  await clock.advance(3_000);
  a.travelMs = 1_000;
  a.stop.abort();
  let hasLeft = false;
  void a.lease.leave().then(() => (hasLeft = true));
  await clock.advance(0);
  expect(hasLeft).toBe(true);
});

test("a process that cannot renew acts for ten seconds after it sent its last renewal, however late the response came", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock, { travelMs: 700 });
  await clock.advance(700); // The response shows no lease, so one is sent now.
  const until = clock.monotonicMs() + 10_000;
  await clock.advance(1_400);
  expect(a.lease.mayAct()).toBe(true);
  a.fate = "lost";
  await clock.advance(until - clock.monotonicMs() - 1);
  expect(a.lease.mayAct()).toBe(true);
  await clock.advance(1);
  expect(a.lease.mayAct()).toBe(false);
  a.stop.abort();
});

test("another group waits for fifteen seconds from the last renewal of any process, and reports the holder once", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const [a, b] = [member("a", server, clock), member("b", server, clock)];
  await clock.advance(3_000);
  const other = member("c", server, clock, { group: "shards-rule2-of-5" });
  await clock.advance(20_000);
  expect(other.lease.mayAct()).toBe(false);
  expect(other.rivals).toEqual([GROUP]);
  a.fate = "lost";
  await clock.advance(20_000);
  expect([a, b, other].map(({ lease }) => lease.mayAct())).toEqual([false, true, false]);
  expect(b.lease.alive()).toEqual(["b"]);
  b.fate = "lost";
  await clock.advance(12_000);
  expect([a, b, other].map(({ lease }) => lease.mayAct())).toEqual([false, false, false]);
  await clock.advance(5_000);
  expect(other.lease.mayAct()).toBe(true);
  a.fate = "arrives";
  await clock.advance(3_000);
  expect(a.lease.mayAct()).toBe(false);
  for (const { stop } of [a, b, other]) stop.abort();
});

test("the last reachable process does not release the lease while a disconnected process may still act", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const [a, b] = [member("a", server, clock), member("b", server, clock)];
  await clock.advance(5_000);
  b.fate = "lost";
  await clock.advance(1_000);
  await a.leave();
  expect(holderOf(server)).toBe(GROUP);
  expect(namesOn(server)).toEqual(["b"]);
  b.stop.abort();
});

test("the last process releases the lease if others have been dead for the lease duration", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const [a, b] = [member("a", server, clock), member("b", server, clock)];
  await clock.advance(5_000);
  b.fate = "lost";
  b.stop.abort();
  await clock.advance(18_000);
  await a.leave();
  expect(holderOf(server)).toBe("");
});

test("a process that does not campaign observes the lease, and acquires it at once when it campaigns after the expiry", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  await clock.advance(3_000);
  const other = member("c", server, clock, { group: "shards-rule2-of-5" });
  other.stands = false;
  await clock.advance(1_000);
  a.fate = "lost";
  await clock.advance(20_000);
  expect(holderOf(server)).toBe(GROUP);
  other.stands = true;
  await clock.advance(1_100);
  expect(other.lease.mayAct()).toBe(true);
  for (const { stop } of [a, other]) stop.abort();
});

test("a corrupted roll is written again, and the lease is not released before all processes have had time to renew", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  await clock.advance(3_000);
  const { lease } = server;
  if (lease === undefined) throw new Error("nobody holds the lease");
  const metadata = { ...lease.metadata, annotations: { [ROLL_ANNOTATION]: "nonsense" } };
  const otherClient = server.client(
    () => "arrives",
    () => Promise.resolve(),
  );
  await otherClient.replace(LEASES, { ...lease, metadata }, { signal: a.stop.signal });
  await clock.advance(3_000);
  expect(namesOn(server)).toEqual(["?", "a"]);
  const b = member("b", server, clock);
  await clock.advance(1_000);
  await b.leave();
  expect(holderOf(server)).toBe(GROUP);
  expect(a.lease.alive()).toEqual(["a"]);
  await clock.advance(63_000);
  expect(namesOn(server)).toEqual(["a"]);
  await a.leave();
  expect(holderOf(server)).toBe("");
});

test("a deleted lease is created again", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  await clock.advance(3_000);
  server.lease = undefined;
  await clock.advance(1_000);
  await clock.advance(2_000);
  expect(holderOf(server)).toBe(GROUP);
  expect(a.lease.mayAct()).toBe(true);
  a.stop.abort();
});

test("a lease that was deleted and recreated is not released before its previous processes have stopped", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const [a, b] = [member("a", server, clock), member("b", server, clock)];
  await clock.advance(10_000);
  const other = member("c", server, clock, { group: "shards-rule2-of-2" });
  await clock.advance(3_000);
  server.lease = undefined;
  b.fate = "lost";
  await clock.advance(2_500);
  expect(namesOn(server)).toEqual(["?", "a", "b"]);
  const left = a.leave();
  for (let waitedMs = 0; waitedMs < 20_000; waitedMs += 500) {
    await clock.advance(500);
    expect([b, other].filter(({ lease }) => lease.mayAct()).length).toBeLessThanOrEqual(1);
  }
  await left;
  expect(other.lease.mayAct()).toBe(true);
  await Promise.all([b.leave(), other.leave()]);
});

test("a renewal counts once it is read, even if its response was lost", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  await clock.advance(3_000);
  a.writes = "reply-lost";
  await clock.advance(60_000);
  expect(a.lease.mayAct()).toBe(true);
  a.stop.abort();
});

test("the lease is renewed by full writes where patches are forbidden", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const all = [member("a", server, clock), member("b", server, clock)];
  for (const each of all) each.patches = "refused";
  await clock.advance(60_000);
  expect(all.map(({ lease }) => lease.mayAct())).toEqual([true, true]);
  expect(namesOn(server)).toEqual(["a", "b"]);
  for (const each of all) await each.leave();
  expect(holderOf(server)).toBe("");
});

test("two processes that leave at the same moment release the lease", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const all = ["a", "b", "c"].map((name) => member(name, server, clock, { travelMs: 50 }));
  await clock.advance(10_000);
  await Promise.all(all.map((each) => each.leave()));
  expect(holderOf(server)).toBe("");
});

test("a process that leaves during an outage of the API server ends within two seconds", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  await clock.advance(3_000);
  a.travelMs = 60_000;
  a.stop.abort();
  await clock.advance(60_000);
  let hasLeft = false;
  void a.lease.leave().then(() => (hasLeft = true));
  await clock.advance(2_000);
  expect(hasLeft).toBe(true);
});
