import { expect, test } from "vitest";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { TokenBucket } from "./rate.ts";

const never = new AbortController().signal;

/** Times in milliseconds after the start at which `count` calls got their turn. */
async function turns(clock: FakeClock, bucket: TokenBucket, count: number): Promise<number[]> {
  const startMs = clock.monotonicMs();
  const times: number[] = [];
  for (let n = 0; n < count; n++) void bucket.take(never).then(() => times.push(clock.monotonicMs() - startMs));
  await clock.advance(60_000);
  return times;
}

test("a burst of calls begins at once, and the rest at the rate and in order", async () => {
  const clock = new FakeClock();
  expect(await turns(clock, new TokenBucket(clock, { qps: 10, burst: 3 }), 6)).toEqual([0, 0, 0, 100, 200, 300]);
});

test("a time without calls refills the bucket up to the burst, and no further", async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, { qps: 10, burst: 2 });
  await turns(clock, bucket, 2);
  expect(await turns(clock, bucket, 4)).toEqual([0, 0, 100, 200]);
});

test("calls of high priority never wait, and use tokens that other calls then wait for", async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, { qps: 10, burst: 1 });
  for (let n = 0; n < 3; n++) bucket.takeHigh();
  expect(await turns(clock, bucket, 1)).toEqual([300]);
});

test("a call that does not wait is refused when there is no token", async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, { qps: 2, burst: 2 });
  expect([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()]).toEqual([true, true, false]);
  await clock.advance(499);
  expect(bucket.tryTake()).toBe(false);
  await clock.advance(1);
  expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
});

test("a cancelled call fails at once, takes no token and does not stop other calls", async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, { qps: 1, burst: 1 });
  await bucket.take(never);
  const stop = new AbortController();
  const order: string[] = [];
  void bucket.take(stop.signal).catch(() => order.push("first gave up"));
  void bucket.take(stop.signal).catch(() => order.push("second gave up"));
  void bucket.take(never).then(() => order.push("third went"));
  await clock.advance(100);
  stop.abort();
  await clock.advance(0);
  expect(order.sort()).toEqual(["first gave up", "second gave up"]);
  await clock.advance(900);
  expect(order).toContain("third went");
});
