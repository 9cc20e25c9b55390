import { expect, test } from "vitest";
import { FakeClock } from "#kit/fake-clock.ts";
import { GROUP, holderOf, member, namesOn } from "#kit/group-member.ts";
import { LeaseServer } from "#kit/kube-lease-server.ts";
import { LEASES } from "#kube/kinds.ts";
import { annotationsWith, ROLL_ANNOTATION } from "./lease-roll.ts";

test("processes of a group hold one lease, each says that it goes on, and the last one gives it back", async () => {
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

test("who leaves believes nothing any more before the API server has heard of it", async () => {
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

test("who never stood for the lease leaves without a call", async () => {
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

test("who cannot renew believes for ten seconds from the sending of its last renewal, however late the answer came", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock, { travelMs: 700 });
  await clock.advance(700); // There is no lease, says the answer, and one is sent now.
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

test("another group waits for fifteen seconds from the last renewal of anybody, and says once for whom", async () => {
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

test("the last one that can does not give the lease back while one that is cut off may still believe", async () => {
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

test("the last one gives the lease back of those that have been dead for a lease's time", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const [a, b] = [member("a", server, clock), member("b", server, clock)];
  await clock.advance(5_000);
  b.fate = "lost";
  b.stop.abort();
  await clock.advance(18_000);
  await a.leave();
  expect(holderOf(server)).toBe("");
});

test("who does not stand for the lease looks on, and has it when it stands after its holder has been silent for its time", async () => {
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

test("a roll that somebody has spoiled is made anew, and until everybody has had the time for it nobody gives the lease back", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  await clock.advance(3_000);
  const { lease } = server;
  if (lease === undefined) throw new Error("nobody holds the lease");
  const metadata = { ...lease.metadata, annotations: { [ROLL_ANNOTATION]: "nonsense" } };
  const anybody = server.client(
    () => "arrives",
    () => Promise.resolve(),
  );
  await anybody.replace(LEASES, { ...lease, metadata }, { signal: a.stop.signal });
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

test("a lease that somebody has deleted is made anew after its time", async () => {
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

test("a lease that somebody has deleted is not given back before those who were on it have stopped", async () => {
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

test("a renewal whose answer was lost counts when it is seen", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const a = member("a", server, clock);
  await clock.advance(3_000);
  a.writes = "reply-lost";
  await clock.advance(60_000);
  expect(a.lease.mayAct()).toBe(true);
  a.stop.abort();
});

test("where patches are refused it is renewed as a whole", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const all = [member("a", server, clock), member("b", server, clock)];
  for (const each of all) each.patches = "refused";
  await clock.advance(60_000);
  expect(all.map(({ lease }) => lease.mayAct())).toEqual([true, true]);
  expect(namesOn(server)).toEqual(["a", "b"]);
  for (const each of all) await each.leave();
  expect(holderOf(server)).toBe("");
});

test("two that leave at the same moment give the lease back", async () => {
  const [clock, server] = [new FakeClock(), new LeaseServer()];
  const all = ["a", "b", "c"].map((name) => member(name, server, clock, { travelMs: 50 }));
  await clock.advance(10_000);
  await Promise.all(all.map((each) => each.leave()));
  expect(holderOf(server)).toBe("");
});

test("who leaves an API server that does not answer has ended within two seconds", async () => {
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
