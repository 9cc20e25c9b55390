import { expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Caches } from "./caches.ts";
import { followedAgain, isStartingWith } from "./caught-up.ts";

const read = { clusters: { synced: true }, peers: { synced: true } } as unknown as Caches;
const reading = { clusters: { synced: true }, peers: { synced: false } } as unknown as Caches;

test.each([
  ["one that has no shard and has just started", [], true, true],
  ["one that has no shard for some time, since it waits for another number of shards", [], false, false],
  ["one that still reads the state of its first shard", [reading], true, true],
  ["one that still reads the state of another shard later", [read, reading], false, true],
  ["one that has just started and has read the state of all its shards", [read, read], true, false],
])("whether a process with shards is starting: %s", (_title, caches, isNew, expected) => {
  expect(isStartingWith(caches, isNew)).toBe(expected);
});

/** Caches of which one is cut off and waits for its next try. */
function cutOff(stoodByMs = 10_000) {
  const clock = new FakeClock();
  const renewed: string[] = [];
  const renewing = (name: string) => ({ renew: () => void renewed.push(name) });
  const leading = new AbortController();
  const { promise: follows, resolve: follow, reject: fail } = Promise.withResolvers<void>();
  const whenSynced = (signal: AbortSignal) => {
    const { promise: aborted, reject } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => reject(new OperatorError("Cancelled", "aborted")));
    return Promise.race([follows, aborted]);
  };
  const caches = {
    clusters: { ...renewing("clusters"), whenSynced: () => Promise.resolve() },
    peers: { ...renewing("peers"), whenSynced },
  } as unknown as Caches;
  let isThrough = false;
  const through = followedAgain(caches, clock.monotonicMs() - stoodByMs, leading.signal, clock).then(() => {
    isThrough = true;
  });
  const isThroughAfter = async (ms: number) => {
    await clock.advance(ms);
    return isThrough;
  };
  return { clock, renewed, follow, fail, leading, through, isThroughAfter };
}

test("a new leader waits until the watches of all its caches are connected", async () => {
  const { clock, follow, isThroughAfter } = cutOff();
  expect([await isThroughAfter(3_000), clock.timers]).toEqual([false, 1]);
  follow();
  expect([await isThroughAfter(0), clock.timers]).toEqual([true, 0]);
});

test("a new leader waits for its caches for at most ten seconds", async () => {
  const { isThroughAfter } = cutOff();
  expect([await isThroughAfter(9_999), await isThroughAfter(1)]).toEqual([false, true]);
});

test("a process that loses leadership stops waiting for its caches", async () => {
  const { leading, isThroughAfter } = cutOff();
  leading.abort();
  expect(await isThroughAfter(0)).toBe(true);
});

test("an error of a cache is thrown", async () => {
  const { fail, through } = cutOff();
  fail(new OperatorError("Bug", "a fault"));
  await expect(through).rejects.toThrow("a fault");
});

test("a process that was no leader for more than ten seconds renews all watches", () => {
  expect([cutOff(10_000).renewed, cutOff(10_001).renewed]).toEqual([[], ["clusters", "peers"]]);
});
