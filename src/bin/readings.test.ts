import { expect, test } from "vitest";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Caches } from "./caches.ts";
import { Readings } from "./readings.ts";

function setUp() {
  const clock = new FakeClock();
  const log: string[] = [];
  const numbers = new Map<unknown, number>();
  let opened = 0;
  let isRead = true;
  const readings = new Readings(
    (shard) => {
      const number = ++opened;
      const start = (signal: AbortSignal): void => {
        log.push(`${number} reads shard ${shard}`);
        signal.addEventListener("abort", () => log.push(`${number} ends`));
      };
      const pods = {
        start,
        renew: () => log.push(`${number} renews`),
        get synced() {
          return isRead;
        },
      };
      const caches = { pods } as unknown as Caches;
      numbers.set(caches, number);
      const close = () => Promise.resolve(void log.push(`${number} is closed`));
      return { client: { close }, caches };
    },
    (caches) => log.push(`${numbers.get(caches)} was counted`),
    clock,
  );
  return {
    clock,
    readings,
    logged: () => log.splice(0),
    open: () => readings.caches.map((each) => numbers.get(each)),
    isUnread: () => {
      isRead = false;
    },
  };
}

test("the caches of a shard that is led again within a minute are used again", async () => {
  const { clock, readings, logged, open } = setUp();
  const caches = readings.take(3);
  for (let n = 0; n < 3; n++) {
    readings.leave(3);
    await clock.advance(59_000);
    expect(readings.take(3)).toBe(caches);
  }
  await clock.advance(120_000);
  expect(logged()).toEqual(["1 reads shard 3", "1 renews", "1 renews", "1 renews"]);
  expect(open()).toEqual([1]);
});

test("the caches of a shard that is not led again within a minute are closed, and counted in the statistics", async () => {
  const { clock, readings, logged, open } = setUp();
  readings.take(0);
  readings.take(1);
  readings.leave(1);
  await clock.advance(60_000);
  readings.take(1);
  expect(logged()).toEqual([
    "1 reads shard 0",
    "2 reads shard 1",
    "2 ends",
    "2 was counted",
    "2 is closed",
    "3 reads shard 1",
  ]);
  expect(open()).toEqual([1, 3]);
});

test("caches that are still being read are closed immediately when their shard is given back", () => {
  const { readings, logged, open, isUnread } = setUp();
  isUnread();
  readings.take(0);
  readings.leave(0);
  expect(open()).toEqual([]);
  readings.take(0);
  expect(logged()).toEqual(["1 reads shard 0", "1 ends", "1 was counted", "1 is closed", "2 reads shard 0"]);
});

test("caches that are used again renew their watches, which may be disconnected", async () => {
  const { clock, readings, logged } = setUp();
  readings.take(0);
  readings.leave(0);
  await clock.advance(30_000);
  readings.take(0);
  expect(logged()).toEqual(["1 reads shard 0", "1 renews"]);
});

test("all caches are closed once when the process ends, even those of shards that it no longer leads", async () => {
  const { clock, readings, logged, open } = setUp();
  readings.take(0);
  readings.take(1);
  readings.leave(1);
  await readings.close();
  await clock.advance(120_000);
  expect(logged().filter((each) => each.endsWith("ends"))).toEqual(["1 ends", "2 ends"]);
  expect(open()).toEqual([]);
});
