import fc from "fast-check";
import { expect, test } from "vitest";
import { shardFleet } from "#kit/sweeps/shard-fleet.ts";
import type { ShardProcess } from "#kit/sweeps/shard-process.ts";

/** Lease duration from the last renewal, and one read, for the successor of a dead process; in milliseconds. */
const FOLLOWED_MS = 18_000;
/**
 * Additional time with calls of half a second each way: a renewal in progress, a read and the renewal that acquires the
 * lease.
 */
const SLOWLY_MS = 4_000;
/** Additional time when the pauses between successive reads and renewals are all a tenth longer. */
const LONGER_MS = 1_000;
/**
 * From the end of the last process with another number of shards. Includes a read, the time to find each other, and a
 * read for the shard.
 */
const CHANGED_MS = 11_000;

/** Work that ends at once, or in each shard after a different time up to the limit. */
const DRAINS = [0, (shard: number) => (shard * 1_700) % 7_000] as const;

test.each([
  ["dies", FOLLOWED_MS],
  ["is stopped", 7_000],
] as const)(
  "at whatever time a process %s, no cluster is without a leader for longer than %d ms",
  async (how, boundMs) => {
    for (let atMs = 0; atMs <= 24_000; atMs += 1_500) {
      for (const [slowMs, drainMs] of [0, 500].flatMap((ms) => DRAINS.map((drain) => [ms, drain] as const))) {
        const { process, advance, untilLed, longestGap, end } = shardFleet();
        const [a, b] = [process("a", 5), process("b", 5)];
        b.travelMs = slowMs;
        await untilLed();
        const victim = process("victim", 5);
        for (const each of [a, b, victim]) each.drainMs = drainMs;
        await advance(atMs);
        longestGap();
        if (how === "dies") victim.kill();
        else victim.end();
        await advance(30_000);
        expect([how, atMs, slowMs, drainMs, longestGap() <= boundMs + (slowMs === 0 ? 0 : SLOWLY_MS)]).toEqual([
          how,
          atMs,
          slowMs,
          drainMs,
          true,
        ]);
        expect(a.leads.length + b.leads.length).toBe(5);
        await end();
      }
    }
  },
);

test("shards split and merge during a rollout of the Deployment, even if a replica dies at any time", async () => {
  for (const [before, after] of [
    [2, 5],
    [5, 2],
    [3, 1],
    [1, 3],
  ] as const)
    for (let atMs = 0; atMs <= 20_000; atMs += 4_000) {
      const { process, advance, untilLed, longestGap, end } = shardFleet();
      const all = ["a", "b", "c"].map((name) => process(name, before));
      await untilLed();
      await advance(20_000);
      longestGap();
      let victim: ShardProcess | undefined;
      for (const [n, each] of all.entries()) {
        each.restart(after);
        if (n === 1) {
          await advance(atMs);
          victim = all[2];
          victim?.kill();
        }
        await advance(5_000);
      }
      await advance(60_000);
      expect([before, after, atMs, longestGap() <= FOLLOWED_MS + CHANGED_MS]).toEqual([before, after, atMs, true]);
      await end();
    }
});

test("while shards split, merge, die and return, partly with a slow API server, there are never two leaders, and gaps are bounded", async () => {
  const processIndex = fc.integer({ min: 0, max: 5 });
  const event = fc.record({
    processIndex,
    do: fc.oneof(
      fc.constantFrom("die" as const, "stop" as const, "fast" as const),
      fc.record({ slowMs: fc.integer({ min: 50, max: 700 }) }),
      fc.record({ drainMs: fc.integer({ min: 0, max: 7_000 }) }),
      fc.record({ shards: fc.integer({ min: 2, max: 16 }) }),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(event, { minLength: 3, maxLength: 10 }), async (seed, events) => {
      const { process, advance, untilLed, longestGap, end } = shardFleet(seed);
      let shards = 6;
      const all = Array.from({ length: 6 }, (_, n) => process(`${n}-`, shards));
      await untilLed();
      await advance(10_000);
      longestGap();
      for (const [n, { processIndex: which, do: what }] of events.entries()) {
        const one = all[which] as ShardProcess;
        if (what === "die") one.kill();
        else if (what === "stop") one.end();
        else if (what === "fast") one.travelMs = 0;
        else if ("slowMs" in what) one.travelMs = what.slowMs;
        else if ("drainMs" in what) one.drainMs = (shard) => (shard % 2 === 0 ? what.drainMs : 0);
        else {
          shards = what.shards;
          for (const each of all) each.restart(shards);
        }
        if (what === "die" || what === "stop") {
          await advance(3_000);
          all[which] = process(`${which}-${n}`, shards);
        }
        await advance(40_000);
        const isSlow = all.some(({ travelMs }) => travelMs > 0);
        const boundMs = FOLLOWED_MS + CHANGED_MS + LONGER_MS + (isSlow ? 2 * SLOWLY_MS : 0);
        expect(longestGap()).toBeLessThanOrEqual(boundMs);
      }
      expect(await untilLed(0)).toBe(0);
      await end();
    }),
    { numRuns: 15, endOnFailure: true },
  );
});
