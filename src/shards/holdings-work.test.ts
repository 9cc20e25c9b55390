import { expect, test } from "vitest";
import { LeaseServer } from "#kit/servers/kube-lease-server.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { LEASES } from "#kube/kinds.ts";
import { Election } from "#kube/lease.ts";
import { Holdings } from "./holdings.ts";

const SHARDS = 2;

/** One process that leads both shards, and a log of its work. */
function setUp({ run, canRead = true }: { run?: (shard: number) => Promise<void>; canRead?: boolean } = {}) {
  const clock = new FakeClock();
  const servers = Array.from({ length: SHARDS }, () => new LeaseServer());
  const logged: string[] = [];
  const state = { canRead };
  const mayActs: (() => boolean)[] = [];
  const group = { holds: true, mayAct: () => group.holds, alive: () => ["me"] };
  /** Sets the holder in the lease of a shard, or clears it. */
  const write = async (shard: number, holderIdentity: string, leaseDurationSeconds = 15): Promise<void> => {
    const { lease } = servers[shard] ?? {};
    if (lease === undefined) throw new Error("there is no lease");
    const spec = { ...lease.spec, holderIdentity, leaseDurationSeconds };
    await clientOf(servers[shard]!).replace(LEASES, { ...lease, spec }, { signal: stop.signal });
  };
  const stop = new AbortController();
  const clientOf = (server: LeaseServer) =>
    server.client(
      () => "arrives",
      () => Promise.resolve(),
    );
  const holdings = new Holdings({
    process: "me",
    group,
    clock,
    elections: servers.map(
      (server) =>
        new Election({ client: clientOf(server), namespace: "default", name: "shard", identity: "me", clock }),
    ),
    prepare: (shard, mayAct) => {
      logged.push(`prepared ${shard}`);
      mayActs.push(mayAct);
      return {
        async whenReady(signal) {
          while (!state.canRead && !signal.aborted) await clock.sleep(500, signal).catch(() => undefined);
          return !signal.aborted;
        },
        async run(leading) {
          logged.push(`began ${shard}`);
          await run?.(shard);
          if (!leading.aborted) await new Promise((resolve) => leading.addEventListener("abort", resolve));
          logged.push(`ended ${shard}, while it ${mayAct() ? "led" : "did not lead"}`);
        },
        close: () =>
          Promise.resolve(void logged.push(`closed ${shard}, while it ${mayAct() ? "led" : "did not lead"}`)),
      };
    },
  });
  const done = holdings.run(stop.signal);
  return { clock, servers, logged, mayActs, group, stop, state, holdings, write, done };
}

const of = (shard: number, logged: readonly string[]) => logged.filter((line) => line.includes(` ${shard}`));

test("the work of a shard is prepared once, runs while the process leads the shard, and is closed once afterwards", async () => {
  const { clock, logged, mayActs, stop, holdings, done } = setUp();
  await clock.advance(0);
  expect([0, 1, 2].map((shard) => holdings.mayAct(shard))).toEqual([false, false, false]);
  await clock.advance(10_000);
  expect([0, 1, 2].map((shard) => holdings.mayAct(shard))).toEqual([true, true, false]);
  stop.abort();
  await clock.advance(5_000);
  await done;
  expect(of(0, logged)).toEqual(["prepared 0", "began 0", "ended 0, while it led", "closed 0, while it did not lead"]);
  expect([0, 1].map((shard) => holdings.mayAct(shard))).toEqual([false, false]);
  expect(mayActs.map((mayAct) => mayAct())).toEqual([false, false]);
});

test("when the work of one shard fails, all work ends and all leases are released", async () => {
  const broken = Promise.withResolvers<void>();
  const { clock, servers, logged, done } = setUp({
    run: (shard) => (shard === 0 ? broken.promise : Promise.resolve()),
  });
  const outcome = done.then(
    () => "ended",
    (thrown: unknown) => thrown,
  );
  await clock.advance(10_000);
  broken.reject(new Error("broken"));
  await clock.advance(5_000);
  expect(await outcome).toEqual(new Error("broken"));
  expect(logged.filter((line) => line.startsWith("closed")).length).toBe(SHARDS);
  expect(servers.map(({ lease }) => lease?.spec?.holderIdentity)).toEqual(["", ""]);
});

test("work of an ended term may not act in the next term, for which new work is prepared", async () => {
  const { clock, logged, mayActs, state, stop, holdings, write, done } = setUp();
  await clock.advance(10_000);
  // Another process takes it, and gives it back at once.
  await write(0, "other");
  await clock.advance(2_500);
  expect(holdings.mayAct(0)).toBe(false);
  await write(0, "");
  state.canRead = false;
  await clock.advance(5_000);
  expect([holdings.mayAct(0), holdings.leads(0)]).toEqual([true, false]);
  state.canRead = true;
  await clock.advance(1_000);
  expect(holdings.leads(0)).toBe(true);
  expect(of(0, logged).filter((line) => !line.startsWith("ended"))).toEqual([
    "prepared 0",
    "began 0",
    "closed 0, while it did not lead",
    "prepared 0",
    "began 0",
  ]);
  expect(mayActs.map((mayAct) => mayAct())).toEqual([false, true, true]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("a process that loses its group leads nothing, and prepares its shards again once others have had time to join", async () => {
  const { clock, logged, group, stop, holdings, done } = setUp();
  await clock.advance(10_000);
  group.holds = false;
  expect(holdings.mayAct(0)).toBe(false);
  await clock.advance(30_000);
  expect(of(0, logged).at(-1)).toBe("closed 0, while it did not lead");
  group.holds = true;
  await clock.advance(500);
  const before = logged.length;
  await clock.advance(3_000);
  expect(logged.length).toBe(before);
  await clock.advance(6_000);
  expect(of(0, logged).slice(-2)).toEqual(["prepared 0", "began 0"]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("a process that is back in its group takes its part of the free shards, and leaves the rest to another process", async () => {
  const { clock, group, stop, holdings, write, done } = setUp();
  await clock.advance(10_000);
  await write(1, "other");
  group.alive = () => ["me", "other"];
  await clock.advance(5_000);
  expect([0, 1].map((shard) => holdings.leads(shard))).toEqual([true, false]);
  group.holds = false;
  await write(1, "");
  await clock.advance(5_000);
  group.holds = true;
  await clock.advance(8_000);
  expect([0, 1].map((shard) => holdings.leads(shard))).toEqual([true, false]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("a shard with unfilled caches is given back, and acquired again once they are filled", async () => {
  const { clock, servers, logged, stop, state, holdings, done } = setUp({ canRead: false });
  const holder = () => servers[0]!.lease?.spec?.holderIdentity;
  const seen = () => [holder(), holdings.mayAct(0), holdings.leads(0), holdings.unread];
  await clock.advance(6_000);
  expect(seen()).toEqual(["me", true, false, []]);
  await clock.advance(73_000);
  expect(seen()).toEqual(["me", true, false, []]);
  await clock.advance(3_000);
  expect(seen()).toEqual(["", false, false, []]);
  expect(of(0, logged)).toEqual(["prepared 0", "closed 0, while it did not lead", "prepared 0"]);
  await clock.advance(300_000);
  expect(seen()).toEqual(["", false, false, []]);
  state.canRead = true;
  await clock.advance(3_000);
  expect(seen()).toEqual(["me", true, true, []]);
  expect(of(0, logged).slice(2)).toEqual(["prepared 0", "began 0"]);
  stop.abort();
  await clock.advance(5_000);
  await done;
  expect(holdings.leads(0)).toBe(false);
});

test("a shard that could not be read is reported for ten minutes while another process leads it", async () => {
  const { clock, stop, holdings, write, done } = setUp({ canRead: false });
  await clock.advance(82_000);
  for (const shard of [0, 1]) await write(shard, "other", 3_600);
  await clock.advance(590_000);
  expect(holdings.unread).toEqual([0, 1]);
  await write(1, "");
  await clock.advance(3_000);
  expect(holdings.unread).toEqual([0]);
  await clock.advance(8_000);
  expect(holdings.unread).toEqual([]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("a process that loses a lease while it fills its caches reports no failure", async () => {
  const { clock, logged, stop, holdings, write, done } = setUp({ canRead: false });
  await clock.advance(20_000);
  await write(0, "other", 3_600);
  await clock.advance(5_000);
  expect([holdings.unread, of(0, logged)]).toEqual([[], ["prepared 0", "closed 0, while it did not lead"]]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("a process that is stopped while it fills its caches reports no failure", async () => {
  const { clock, logged, stop, holdings, done } = setUp({ canRead: false });
  await clock.advance(20_000);
  stop.abort();
  await clock.advance(5_000);
  await done;
  expect([holdings.unread, of(0, logged)]).toEqual([[], ["prepared 0", "closed 0, while it did not lead"]]);
});

test("a process that has read one shard reports none as unreadable, and acquires others before it reads them", async () => {
  const { clock, logged, state, stop, holdings, write, done } = setUp({ canRead: false });
  await clock.advance(82_000);
  await write(0, "other", 3_600);
  await clock.advance(3_000);
  expect(holdings.unread).toEqual([0]);
  state.canRead = true;
  await clock.advance(3_000);
  expect([holdings.leads(1), holdings.unread]).toEqual([true, []]);
  state.canRead = false;
  await write(0, "");
  await clock.advance(3_000);
  expect([holdings.mayAct(0), holdings.leads(0), of(0, logged).at(-1)]).toEqual([true, false, "prepared 0"]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("a process that has read shards that another process leads reports none as unreadable", async () => {
  const { clock, state, stop, holdings, write, done } = setUp({ canRead: false });
  await clock.advance(90_000);
  for (const shard of [0, 1]) await write(shard, "other", 3_600);
  state.canRead = true;
  await clock.advance(5_000);
  expect([holdings.leads(0), holdings.leads(1), holdings.unread]).toEqual([false, false, []]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("a process that prepares a shard before it acquires it closes the work when another process leads the shard", async () => {
  const { clock, logged, state, stop, holdings, write, done } = setUp({ canRead: false });
  await clock.advance(90_000);
  await write(0, "other");
  await clock.advance(3_000);
  expect(of(0, logged).slice(2)).toEqual(["prepared 0", "closed 0, while it did not lead"]);
  state.canRead = true;
  await clock.advance(3_000);
  expect([holdings.leads(0), holdings.leads(1)]).toEqual([false, true]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});
