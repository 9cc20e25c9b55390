import { expect, test } from "vitest";
import { shardFleet } from "#kit/sweeps/shard-fleet.ts";

/** From when a shard is free: one read to see that, one to assign it, and the call that takes it; in milliseconds. */
const TAKEN_MS = 3_000;
/** Includes the time until another process is passed over. */
const PASSED_OVER_MS = 14_000;

test("a process that may not write the leases of shards is no longer assigned any, and others lead them", async () => {
  const { process, advance, untilLed, longestGap, end } = shardFleet();
  const [a, b] = [process("a", 4), process("b", 4)];
  await untilLed();
  await advance(20_000);
  longestGap();
  const c = process("0c", 4);
  c.mayTake = false;
  await advance(300_000);
  expect([a, b, c].map(({ leads }) => leads.length)).toEqual([2, 2, 0]);
  expect(longestGap()).toBeLessThanOrEqual(PASSED_OVER_MS);
  await advance(100_000);
  expect(longestGap()).toBe(0);
  c.mayTake = true;
  await advance(400_000);
  expect([a, b, c].map(({ leads }) => leads.length).toSorted()).toEqual([1, 1, 2]);
  await end();
});

test("a process that may not write the leases of shards does not delay the successor of a dead process", async () => {
  const { process, advance, untilLed, longestGap, end } = shardFleet();
  const [a, b] = [process("a", 4), process("b", 4)];
  await untilLed();
  const c = process("0c", 4);
  c.mayTake = false;
  await advance(40_000);
  longestGap();
  b.kill();
  await advance(60_000);
  expect(a.leads.length).toBe(4);
  expect(longestGap()).toBeLessThanOrEqual(18_000);
  c.mayTake = true;
  await end();
});

test.each([2, 5, 16])(
  "a process that ends gives back its idle shards of %d without waiting for busy ones",
  async (shards) => {
    for (const others of [["b"], ["0", "b"]]) {
      const { process, advance, untilLed, longestGap, end } = shardFleet();
      for (const name of others) process(name, shards);
      const leaving = process("a", shards);
      await untilLed();
      await advance(40_000);
      longestGap();
      const [slowest] = leaving.leads;
      leaving.drainMs = (shard) => (shard === slowest ? 7_000 : 100 * shard);
      leaving.end();
      await advance(20_000);
      expect(longestGap()).toBeLessThanOrEqual(TAKEN_MS);
      await end();
    }
  },
);

test("a process that cannot fill its caches gives its shards to others, and is not assigned them repeatedly", async () => {
  const { process, advance, untilLed, longestGap, end } = shardFleet();
  const [a, b] = [process("a", 4), process("b", 4)];
  await untilLed();
  await advance(20_000);
  b.end();
  await untilLed();
  const c = process("c", 4);
  c.canRead = false;
  await advance(95_000);
  longestGap();
  expect([a.leads.length, c.leads.length]).toEqual([4, 0]);
  await advance(600_000);
  expect(longestGap()).toBeLessThanOrEqual(PASSED_OVER_MS);
  c.canRead = true;
  await advance(700_000);
  expect([a.leads.length, c.leads.length]).toEqual([2, 2]);
  await end();
});
