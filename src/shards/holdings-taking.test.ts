import { expect, test } from "vitest";
import { shardFleet } from "#kit/shard-fleet.ts";

/** From when a shard is free: a look by which that is seen, one by which it is shared out, and the call that takes it; in milliseconds. */
const TAKEN_MS = 3_000;
/** The same where another one was waited for, and a look by which it is left out. */
const PASSED_OVER_MS = 14_000;

test("who may not write the leases of shards is given nothing any more, and others lead what it was given", async () => {
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

test("who may not write the leases of shards does not hold up who follows one that dies", async () => {
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
  "of a process that ends, one of several with %d shards, what has no work any more does not wait for what has",
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

test("who cannot read the state of its shards gives them to who can, and neither holds nor is given them again and again", async () => {
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
