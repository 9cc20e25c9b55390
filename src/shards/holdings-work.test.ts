import { expect, test } from "vitest";
import { FakeClock } from "#kit/fake-clock.ts";
import { LeaseServer } from "#kit/kube-lease-server.ts";
import { LEASES } from "#kube/kinds.ts";
import { Election } from "#kube/lease.ts";
import { Holdings } from "./holdings.ts";

const SHARDS = 2;

/** One process that leads both shards, and what becomes of its work. */
function setUp({ run }: { run?: (shard: number) => Promise<void> } = {}) {
  const clock = new FakeClock();
  const servers = Array.from({ length: SHARDS }, () => new LeaseServer());
  const told: string[] = [];
  const mayActs: (() => boolean)[] = [];
  const group = { holds: true, mayAct: () => group.holds, alive: () => ["me"] };
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
  return { clock, servers, told, mayActs, group, stop, holdings, done };
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
  const { clock, servers, told, mayActs, stop, holdings, done } = setUp();
  await clock.advance(10_000);
  const { lease } = servers[0]!;
  if (lease === undefined) throw new Error("nobody holds the lease");
  const client = servers[0]!.client(
    () => "arrives",
    () => Promise.resolve(),
  );
  // Somebody has taken it, and gives it back at once.
  const options = { signal: stop.signal };
  const taken = await client.replace(LEASES, { ...lease, spec: { ...lease.spec, holderIdentity: "other" } }, options);
  await clock.advance(2_500);
  expect(holdings.mayAct(0)).toBe(false);
  await client.replace(LEASES, { ...taken, spec: { ...lease.spec, holderIdentity: "" } }, options);
  await clock.advance(5_000);
  expect(holdings.mayAct(0)).toBe(true);
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
