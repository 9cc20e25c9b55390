import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { MemoryStore } from "#kit/servers/memory-store.ts";
import { changesKey, quietKey } from "./layout.ts";
import { prune } from "./prune.ts";

const DAY_MS = 24 * 60 * 60_000;
const NOW = Date.UTC(2026, 0, 31);
const signal = new AbortController().signal;
const [OLD, NEW] = ["b/cdf-0001", "b/cdf-0002"];

/** Objects left of these ages, in days, when five days are kept. */
async function left(ages: Readonly<Record<string, number>>, last: string, clockMs = NOW): Promise<readonly string[]> {
  const store = new MemoryStore();
  for (const [key, days] of Object.entries(ages))
    store.objects.set(key, { bytes: Buffer.alloc(1), metadata: {}, modified: new Date(NOW - days * DAY_MS) });
  const before = store.keys;
  const deleted = await prune(
    store,
    { prefix: "b", clusterID: "cdf", last },
    { nowMs: clockMs, keepForMs: 5 * DAY_MS },
    signal,
  );
  assert.equal(before.length - store.keys.length, deleted);
  return store.keys;
}

const [began, two, three, four] = [0n, 2n, 3n, 4n].map((first) => changesKey(NEW, first)) as [
  string,
  string,
  string,
  string,
];

describe("pruning an archive", () => {
  test("deletes objects older than the limit", async () => {
    assert.deepEqual(await left({ [began]: 9, [two]: 8, [three]: 5, [four]: 0 }, four), [began, three, four]);
  });

  test("keeps the first and the last object of changes, whatever their age", async () => {
    const quiet = quietKey(NEW, 4n, NOW);
    assert.deepEqual(await left({ [began]: 30, [two]: 29, [three]: 28, [four]: 20, [quiet]: 0 }, four), [
      began,
      four,
      quiet,
    ]);
  });

  test("deletes a whole history when its changes are older than the limit", async () => {
    const ages = { [changesKey(OLD, 0n)]: 9, [changesKey(OLD, 2n)]: 8, [began]: 7, [two]: 0 };
    assert.deepEqual(await left(ages, two), [began, two]);
    assert.deepEqual(await left({ ...ages, [changesKey(OLD, 2n)]: 1 }, two), [
      changesKey(OLD, 0n),
      changesKey(OLD, 2n),
      began,
      two,
    ]);
  });

  test("measures age from the newest object, whatever the agent's clock is", async () => {
    const ages = { [began]: 9, [two]: 7, [three]: 6, [four]: 2 };
    assert.deepEqual(await left(ages, four, NOW + 365 * DAY_MS), [began, two, three, four]);
    assert.deepEqual(await left(ages, four, NOW), [began, two, three, four]);
    assert.deepEqual(await left({ ...ages, [two]: 7.1 }, four, NOW), [began, three, four]);
    // Another etcd's objects do not count.
    const theirs = changesKey("b/abc-0001", 2n);
    assert.deepEqual(await left({ ...ages, [theirs]: -300 }, four, NOW + 365 * DAY_MS), [
      theirs,
      began,
      two,
      three,
      four,
    ]);
  });

  test("deletes no young object when the store's clock is ahead", async () => {
    assert.deepEqual(await left({ [began]: 4, [two]: 3, [three]: -9 }, three), [began, two, three]);
  });
});
