import { expect, test } from "vitest";
import { FakeClock } from "#kit/fake-clock.ts";
import { LeaseServer } from "#kit/kube-lease-server.ts";
import { LEASES } from "#kube/kinds.ts";
import { Election } from "#kube/lease.ts";
import { Holdings } from "./holdings.ts";

const SHARDS = 2;

/** One process that leads both shards, and what becomes of its work. */
function setUp({ run, canRead = true }: { run?: (shard: number) => Promise<void>; canRead?: boolean } = {}) {
  const clock = new FakeClock();
  const servers = Array.from({ length: SHARDS }, () => new LeaseServer());
  const told: string[] = [];
  const state = { canRead };
  const mayActs: (() => boolean)[] = [];
  const group = { holds: true, mayAct: () => group.holds, alive: () => ["me"] };
  /** Somebody else writes its name, or nobody's, into the lease of a shard. */
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
      told.push(`prepared ${shard}`);
      mayActs.push(mayAct);
      return {
        async whenReady(signal) {
          while (!state.canRead && !signal.aborted) await clock.sleep(500, signal).catch(() => undefined);
          return !signal.aborted;
        },
        async run(leading) {
          told.push(`began ${shard}`);
          await run?.(shard);
          if (!leading.aborted) await new Promise((resolve) => leading.addEventListener("abort", resolve));
          told.push(`ended ${shard}, while it ${mayAct() ? "led" : "did not lead"}`);
        },
        close: () => Promise.resolve(void told.push(`closed ${shard}, while it ${mayAct() ? "led" : "did not lead"}`)),
      };
    },
  });
  const done = holdings.run(stop.signal);
  return { clock, servers, told, mayActs, group, stop, state, holdings, write, done };
}

const of = (shard: number, told: readonly string[]) => told.filter((line) => line.includes(` ${shard}`));

test("what leads a shard is prepared once, works while it leads, and is closed once, after that", async () => {
  const { clock, told, mayActs, stop, holdings, done } = setUp();
  await clock.advance(0);
  expect([0, 1, 2].map((shard) => holdings.mayAct(shard))).toEqual([false, false, false]);
  await clock.advance(10_000);
  expect([0, 1, 2].map((shard) => holdings.mayAct(shard))).toEqual([true, true, false]);
  stop.abort();
  await clock.advance(5_000);
  await done;
  expect(of(0, told)).toEqual(["prepared 0", "began 0", "ended 0, while it led", "closed 0, while it did not lead"]);
  expect([0, 1].map((shard) => holdings.mayAct(shard))).toEqual([false, false]);
  expect(mayActs.map((mayAct) => mayAct())).toEqual([false, false]);
});

test("work that fails ends everything, and what is held is given back", async () => {
  const broken = Promise.withResolvers<void>();
  const { clock, servers, told, done } = setUp({
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
  expect(told.filter((line) => line.startsWith("closed")).length).toBe(SHARDS);
  expect(servers.map(({ lease }) => lease?.spec?.holderIdentity)).toEqual(["", ""]);
});

test("a term that is over does not come to life with the next one, which is prepared anew", async () => {
  const { clock, told, mayActs, state, stop, holdings, write, done } = setUp();
  await clock.advance(10_000);
  // Somebody has taken it, and gives it back at once.
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
  expect(of(0, told).filter((line) => !line.startsWith("ended"))).toEqual([
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

test("without its group nothing is led or asked for, and with it again everything is prepared anew, when others have had time to come", async () => {
  const { clock, told, group, stop, holdings, done } = setUp();
  await clock.advance(10_000);
  group.holds = false;
  expect(holdings.mayAct(0)).toBe(false);
  await clock.advance(30_000);
  expect(of(0, told).at(-1)).toBe("closed 0, while it did not lead");
  group.holds = true;
  await clock.advance(500);
  const before = told.length;
  await clock.advance(3_000);
  expect(told.length).toBe(before);
  await clock.advance(6_000);
  expect(of(0, told).slice(-2)).toEqual(["prepared 0", "began 0"]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("who has lost its group and is in it again takes another one, which has given back its shards then, for one that takes them", async () => {
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

test("a shard that is not read in time is given back, not asked for again before it is read, and not told of while nobody has it", async () => {
  const { clock, servers, told, stop, state, holdings, done } = setUp({ canRead: false });
  const holder = () => servers[0]!.lease?.spec?.holderIdentity;
  const seen = () => [holder(), holdings.mayAct(0), holdings.leads(0), holdings.unread];
  await clock.advance(6_000);
  expect(seen()).toEqual(["me", true, false, []]);
  await clock.advance(73_000);
  expect(seen()).toEqual(["me", true, false, []]);
  await clock.advance(3_000);
  expect(seen()).toEqual(["", false, false, []]);
  expect(of(0, told)).toEqual(["prepared 0", "closed 0, while it did not lead", "prepared 0"]);
  await clock.advance(300_000);
  expect(seen()).toEqual(["", false, false, []]);
  state.canRead = true;
  await clock.advance(3_000);
  expect(seen()).toEqual(["me", true, true, []]);
  expect(of(0, told).slice(2)).toEqual(["prepared 0", "began 0"]);
  stop.abort();
  await clock.advance(5_000);
  await done;
  expect(holdings.leads(0)).toBe(false);
});

test("what was given back is told of while another one has it, for ten minutes: who leads nothing meanwhile need not read it", async () => {
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

test("who loses the lease to another one while it reads does not say that it could not", async () => {
  const { clock, told, stop, holdings, write, done } = setUp({ canRead: false });
  await clock.advance(20_000);
  await write(0, "other", 3_600);
  await clock.advance(5_000);
  expect([holdings.unread, of(0, told)]).toEqual([[], ["prepared 0", "closed 0, while it did not lead"]]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("who is told to stop while it reads does not say that it could not", async () => {
  const { clock, told, stop, holdings, done } = setUp({ canRead: false });
  await clock.advance(20_000);
  stop.abort();
  await clock.advance(5_000);
  await done;
  expect([holdings.unread, of(0, told)]).toEqual([[], ["prepared 0", "closed 0, while it did not lead"]]);
});

test("who has read one shard since can read the others: of none it is told any more, and none is read first", async () => {
  const { clock, told, state, stop, holdings, write, done } = setUp({ canRead: false });
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
  expect([holdings.mayAct(0), holdings.leads(0), of(0, told).at(-1)]).toEqual([true, false, "prepared 0"]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});

test("who has read a shard first, and finds that another one has it now, can read them all the same", async () => {
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

test("who reads a shard first sees when another one has it, and lets go", async () => {
  const { clock, told, state, stop, holdings, write, done } = setUp({ canRead: false });
  await clock.advance(90_000);
  await write(0, "other");
  await clock.advance(3_000);
  expect(of(0, told).slice(2)).toEqual(["prepared 0", "closed 0, while it did not lead"]);
  state.canRead = true;
  await clock.advance(3_000);
  expect([holdings.leads(0), holdings.leads(1)]).toEqual([false, true]);
  stop.abort();
  await clock.advance(5_000);
  await done;
});
