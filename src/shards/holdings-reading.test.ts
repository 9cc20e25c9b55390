import { expect, test } from "vitest";
import { shardFleet } from "#kit/sweeps/shard-fleet.ts";
import type { ShardProcess } from "#kit/sweeps/shard-process.ts";

const SHARDS = 4;
/**
 * A process without filled caches holds a lease for so long; until then processes that wait for each other do so, in
 * milliseconds.
 */
const TRIAL_MS = 80_000;
/** How long the result is observed: longer than a given-back shard is reported, in milliseconds. */
const AFTERWARDS_MS = 700_000;

function isReady({ unread }: ShardProcess): boolean {
  return unread.length === 0;
}

test.each([
  [2, "each process can read by itself", 15_000, false],
  [2, "reading needs the answer of a ready process", TRIAL_MS, true],
  [3, "reading needs the answer of a ready process", TRIAL_MS, true],
])(
  "%i processes that could not read for two minutes become ready and lead their shares soon after, where %s",
  async (count, _, soonMs, needsReady) => {
    const { process, advance, end } = shardFleet();
    const all = Array.from({ length: count }, (_, n) => process(`p${n}`, SHARDS));
    for (const each of all) each.canRead = false;
    await advance(120_000);
    let [notReadyMs, idleMs] = [0, 0];
    for (let passedMs = 0; passedMs < AFTERWARDS_MS; passedMs += 500) {
      const canRead = !needsReady || all.some(isReady);
      for (const each of all) each.canRead = canRead;
      await advance(500);
      if (!all.every(isReady)) notReadyMs += 500;
      if (all.flatMap(({ works }) => works).length < SHARDS) idleMs += 500;
    }
    expect(Math.max(notReadyMs, idleMs)).toBeLessThanOrEqual(soonMs);
    expect(Math.max(...all.map(({ works }) => works.length))).toBeLessThanOrEqual(SHARDS / count + 1);
    await end();
  },
);

test("a process that could not read is ready and leads its share soon after it can read again", async () => {
  const { process, advance, end } = shardFleet();
  const [bad, good] = [process("0", SHARDS), process("1", SHARDS)];
  bad.canRead = false;
  await advance(90_000);
  expect([isReady(bad), bad.works, good.works]).toEqual([false, [], [0, 1, 2, 3]]);
  bad.canRead = true;
  await advance(40_000); // It is assigned nothing for half a minute after it gave something back.
  expect([isReady(bad), bad.works.length, good.works.length]).toEqual([true, 2, 2]);
  await end();
});
