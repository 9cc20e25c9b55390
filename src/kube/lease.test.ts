import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Fate, LeaseServer } from "#kit/servers/kube-lease-server.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { Election, type Term } from "./lease.ts";

const onTime = (): Promise<void> => Promise.resolve();

/** A process that campaigns; `work` has the log of its terms. */
function candidate(identity: string, server: LeaseServer, clock: FakeClock, fate: () => Fate = () => "arrives") {
  const stop = new AbortController();
  const work = { terms: 0, running: false };
  const term: Term = {
    onStarted(signal) {
      work.terms += 1;
      work.running = true;
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve());
      return promise;
    },
    onStopped() {
      work.running = false;
    },
  };
  const election = new Election({
    client: server.client(fate, onTime),
    namespace: "default",
    name: "operator",
    identity,
    clock,
  });
  return { election, work, stop, done: election.run(stop.signal, term) };
}

async function end(clock: FakeClock, ...candidates: ReturnType<typeof candidate>[]): Promise<void> {
  for (const { stop } of candidates) stop.abort();
  await clock.advance(30_000);
  await Promise.all(candidates.map(({ done }) => done));
}

describe("election", () => {
  test("the first candidate leads and writes the lease fields that kubectl shows", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    const a = candidate("a", server, clock);
    await clock.advance(0);
    expect(a.election.mayAct()).toBe(true);
    expect(server.lease?.spec).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-01T00:00:00.000000Z",
      renewTime: "2026-01-01T00:00:00.000000Z",
      leaseTransitions: 0,
    });
    await clock.advance(2_000);
    expect(server.lease?.spec).toMatchObject({
      acquireTime: "2026-01-01T00:00:00.000000Z",
      renewTime: "2026-01-01T00:00:02.000000Z",
      leaseTransitions: 0,
    });
    await end(clock, a);
  });

  test("after a graceful stop the next candidate leads within two seconds", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    const a = candidate("a", server, clock);
    await clock.advance(0);
    const b = candidate("b", server, clock);
    await clock.advance(60_000);
    expect([a.work.terms, b.work.terms]).toEqual([1, 0]);
    a.stop.abort();
    await clock.advance(2_000);
    expect(a.election.mayAct()).toBe(false);
    expect(b.election.mayAct()).toBe(true);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 2 - 1 });
    await end(clock, a, b);
  });

  test("a leader that vanished is replaced 15 s after its last renewal, not before", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    let reachable = true;
    const a = candidate("a", server, clock, () => (reachable ? "arrives" : "lost"));
    await clock.advance(0);
    const b = candidate("b", server, clock);
    await clock.advance(3_000); // last renewal at 2 s
    reachable = false;
    await clock.advance(8_000);
    expect([a.election.mayAct(), b.election.mayAct()]).toEqual([true, false]);
    await clock.advance(1_000); // 12 s: ten since the last renewal
    expect([a.election.mayAct(), a.work.running]).toEqual([false, false]);
    await clock.advance(4_900);
    expect(b.election.mayAct()).toBe(false);
    await clock.advance(2_000);
    expect(b.election.mayAct()).toBe(true);
    await end(clock, a, b);
  });

  test("a term is measured from when the renewal was sent, however late its response arrives", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    const client = server.client(
      () => "arrives",
      () => clock.sleep(3_000),
    );
    const election = new Election({ client, namespace: "default", name: "operator", identity: "slow", clock });
    const stop = new AbortController();
    const done = election.run(stop.signal, { onStarted: untilAborted });
    await clock.advance(12_000); // read until 6 s, written until 12 s
    expect(election.mayAct()).toBe(true);
    await clock.advance(4_000);
    expect(election.mayAct()).toBe(false);
    stop.abort();
    await clock.advance(30_000);
    await done;
  });

  test("lost responses to renewals do not end a term, although the next renewal meets a conflict", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    let calls = 0;
    const a = candidate("a", server, clock, () => (++calls > 4 && calls % 4 === 0 ? "reply-lost" : "arrives"));
    await clock.advance(120_000);
    expect(a.work.terms).toBe(1);
    expect(a.election.mayAct()).toBe(true);
    await end(clock, a);
  });

  test("a process that loses the lease to another process stops at the next renewal", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    const a = candidate("a", server, clock);
    await clock.advance(0);
    const rival = server.client(() => "arrives", onTime);
    const lease = server.lease!;
    await rival.replace({} as never, { ...lease, spec: { ...lease.spec, holderIdentity: "rival" } } as never, {
      signal: a.stop.signal,
    });
    await clock.advance(2_000);
    expect([a.election.mayAct(), a.work.running, a.election.holder]).toEqual([false, false, "rival"]);
    await end(clock, a);
  });

  test("a deleted lease is not acquired before its holder has stopped", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    let reachable = true;
    const a = candidate("a", server, clock, () => (reachable ? "arrives" : "lost"));
    await clock.advance(0);
    const b = candidate("b", server, clock);
    await clock.advance(1_500);
    reachable = false;
    server.lease = undefined;
    await clock.advance(8_000);
    expect([a.election.mayAct(), b.election.mayAct()]).toEqual([true, false]);
    await clock.advance(10_000);
    expect([a.election.mayAct(), b.election.mayAct()]).toEqual([false, true]);
    await end(clock, a, b);
  });

  test("the lease is held until the leader's work has stopped, and then released", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    const slow = Promise.withResolvers<void>();
    const election = new Election({
      client: server.client(() => "arrives", onTime),
      namespace: "default",
      name: "operator",
      identity: "slow",
      clock,
    });
    const stop = new AbortController();
    const done = election.run(stop.signal, { onStarted: () => slow.promise });
    await clock.advance(5_000);
    stop.abort();
    await clock.advance(12_000);
    expect(server.lease?.spec?.holderIdentity).toBe("slow");
    expect(election.mayAct()).toBe(true);
    slow.resolve();
    await clock.advance(100);
    expect(server.lease?.spec?.holderIdentity).toBe("");
    expect(election.mayAct()).toBe(false);
    await done;
  });

  test("a stop during a renewal releases the lease", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    const client = server.client(
      () => "arrives",
      () => clock.sleep(100),
    );
    const election = new Election({ client, namespace: "default", name: "operator", identity: "a", clock });
    const stop = new AbortController();
    const done = election.run(stop.signal, { onStarted: untilAborted });
    await clock.advance(2_450); // written at 300 ms; the renewal arrives at 2 400 ms and its reply at 2 500 ms
    expect(server.lease?.metadata.resourceVersion).toBe("2");
    stop.abort();
    await clock.advance(2_000);
    expect(server.lease?.spec?.holderIdentity).toBe("");
    await done;
  });

  test("an error of the leader's work ends the election, releases the lease and is reported", async () => {
    const [clock, server] = [new FakeClock(), new LeaseServer()];
    const client = server.client(() => "arrives", onTime);
    const election = new Election({ client, namespace: "default", name: "operator", identity: "a", clock });
    const done = election.run(new AbortController().signal, {
      onStarted: () => Promise.reject(new Error("broken work")),
    });
    const ended = expect(done).rejects.toThrow("broken work");
    await clock.advance(3_000);
    await ended;
    expect(server.lease?.spec?.holderIdentity).toBe("");
  });
});

test("with any failures of network and processes, no two candidates act at the same time", async () => {
  const fates = fc.constantFrom<Fate>("arrives", "arrives", "arrives", "lost", "reply-lost");
  const candidateIndex = fc.integer({ min: 0, max: 2 });
  const fault = fc.oneof(
    fc.record({ do: fc.constant("network" as const), candidateIndex, fate: fates }),
    fc.record({ do: fc.constant("freeze" as const), candidateIndex }),
    fc.record({ do: fc.constant("slow" as const), candidateIndex, ms: fc.integer({ min: 0, max: 12_000 }) }),
    fc.record({ do: fc.constant("stop" as const), candidateIndex }),
  );
  const event = fc.record({ fault, thenMs: fc.integer({ min: 10, max: 12_000 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 30, size: "max" }), async (events) => {
      const [clock, server] = [new FakeClock(), new LeaseServer()];
      const processes = [0, 1, 2].map((n) => contender(String(n), server, clock));
      for (const { fault: each, thenMs } of events) {
        if (each.do === "network") processes[each.candidateIndex]!.fate = each.fate;
        else if (each.do === "freeze") processes[each.candidateIndex]!.frozen = !processes[each.candidateIndex]!.frozen;
        else if (each.do === "slow") processes[each.candidateIndex]!.travelMs = each.ms;
        else processes[each.candidateIndex]!.stop.abort();
        await advanceWatching(clock, thenMs, processes);
      }
      for (const each of processes) Object.assign(each, { fate: "arrives", frozen: false, travelMs: 0 });
      await advanceWatching(clock, 40_000, processes);
      const alive = processes.filter(({ stop }) => !stop.signal.aborted);
      expect(alive.filter(({ election }) => election.mayAct())).toHaveLength(Math.min(1, alive.length));
      for (const { stop } of processes) stop.abort();
      await clock.advance(60_000);
    }),
    { numRuns: 100 },
  );
});

/** A process with timers that stop while it is frozen and then all fire late, as after SIGSTOP and SIGCONT. */
function contender(identity: string, server: LeaseServer, clock: FakeClock) {
  const stop = new AbortController();
  const self = { fate: "arrives" as Fate, frozen: false, travelMs: 0, stop };
  const wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
    await clock.sleep(ms, signal);
    while (self.frozen) await clock.sleep(50);
  };
  const itsClock = {
    wallMs: () => clock.wallMs() + Number(identity) * 3_600_000, // wall clocks are wrong, and it must not matter
    monotonicMs: () => clock.monotonicMs(),
    sleep: wait,
    after: (ms: number, run: () => void) => clock.after(ms, run),
  };
  const client = server.client(
    () => self.fate,
    () => wait(self.travelMs),
  );
  const election = new Election({ client, namespace: "default", name: "operator", identity, clock: itsClock });
  const done = election.run(stop.signal, { onStarted: untilAborted });
  return Object.assign(self, { election, done });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

async function advanceWatching(clock: FakeClock, ms: number, all: readonly { election: Election }[]): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
    await clock.advance(Math.min(500, leftMs));
    expect(all.filter(({ election }) => election.mayAct()).length).toBeLessThanOrEqual(1);
  }
}
