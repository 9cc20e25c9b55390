import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { systemClock } from "#base/clock.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { startFaultProxy } from "#kit/servers/fault-proxy.ts";
import { LEASES } from "#kube/kinds.ts";
import { Election, type LeaseDurations } from "#kube/lease.ts";

const namespace = "default";
let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(async () => await server?.stop());

/** A fifth of the real times, so that a test does not wait for 15 s. */
const QUICK: LeaseDurations = { durationMs: 3_000, renewDeadlineMs: 2_000, renewEveryMs: 400, lookEveryMs: 200 };

async function candidate(name: string, identity: string, port?: number, durations?: LeaseDurations) {
  const client = await server.clientFor("admin", port);
  const stop = new AbortController();
  const times: { from?: number; to?: number } = {};
  const election = new Election({
    client,
    namespace,
    name,
    identity,
    ...(durations === undefined ? {} : { durations }),
  });
  const done = election.run(stop.signal, {
    async onStarted(signal) {
      times.from = systemClock.monotonicMs();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      times.to = systemClock.monotonicMs();
    },
  });
  async function end(): Promise<void> {
    stop.abort();
    await done;
  }
  return { election, times, end };
}

const leads = (who: { election: Election }) => vi.waitFor(() => expect(who.election.mayAct()).toBe(true), 20_000);

test("the lease is taken over within three seconds after a graceful stop", async () => {
  const a = await candidate("graceful", "a");
  await leads(a);
  const b = await candidate("graceful", "b");
  await systemClock.sleep(2_500);
  expect(b.election.mayAct()).toBe(false);
  const stoppedMs = systemClock.monotonicMs();
  await a.end();
  expect(a.election.mayAct()).toBe(false);
  await leads(b);
  expect(systemClock.monotonicMs() - stoppedMs).toBeLessThan(3_000);
  const { spec } = await server.client.get(
    LEASES,
    { namespace, name: "graceful" },
    { signal: AbortSignal.timeout(5_000) },
  );
  expect(spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1, leaseDurationSeconds: 15 });
  await b.end();
});

test("a leader without a connection stops before the next leader begins", async () => {
  const proxy = await startFaultProxy(server.port);
  const a = await candidate("cut-off", "a", proxy.port, QUICK);
  await leads(a);
  const b = await candidate("cut-off", "b", undefined, QUICK);
  proxy.freeze();
  await leads(b);
  expect(a.election.mayAct()).toBe(false);
  expect(a.times.to).toBeLessThan(b.times.from ?? 0);
  proxy.thaw();
  await vi.waitFor(() => expect(a.election.holder).toBe("b"), 10_000);
  await Promise.all([a.end(), b.end()]);
  await proxy.stop();
});

test("one of two processes leads, and keeps leading through a restart of the API server", async () => {
  const both = await Promise.all([candidate("together", "a"), candidate("together", "b")]);
  await vi.waitFor(() => expect(both.filter(({ election }) => election.mayAct())).toHaveLength(1), 10_000);
  const leader = both.find(({ election }) => election.mayAct());
  await server.kill();
  await server.start();
  await systemClock.sleep(3_000);
  expect(both.filter(({ election }) => election.mayAct())).toEqual([leader]);
  expect(leader?.times.to).toBeUndefined();
  await Promise.all(both.map(({ end }) => end()));
});
