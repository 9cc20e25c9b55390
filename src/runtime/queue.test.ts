import { expect, test } from "vitest";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { KeyedQueue } from "#runtime/queue.ts";

function queueOn(clock: FakeClock): KeyedQueue<string> {
  return new KeyedQueue<string>(clock, (key) => key);
}

/** Takes the next ready key; "nothing" if none is ready. The waiting taker stays and gets the next key. */
async function takeNow(queue: KeyedQueue<string>): Promise<string> {
  const nothing = new Promise<string>((resolve) => setImmediate(() => resolve("nothing")));
  return await Promise.race([queue.take().then((item) => item?.key ?? "closed"), nothing]);
}

test("queue: a key that is added three times is handed out once", async () => {
  const queue = queueOn(new FakeClock());
  for (const key of ["a", "a", "b", "a"]) queue.add(key, "underWay");
  expect([await takeNow(queue), await takeNow(queue), await takeNow(queue)]).toEqual(["a", "b", "nothing"]);
});

test("queue: a key that is added while it is processed is handed out again afterwards", async () => {
  const queue = queueOn(new FakeClock());
  queue.add("a", "underWay");
  expect(await takeNow(queue)).toBe("a");
  queue.add("a", "underWay");
  expect(queue.depth).toBe(0);
  queue.done("a");
  expect(await takeNow(queue)).toBe("a");
});

test("queue: a delayed key is ready when its delay is over, or earlier when it is added", async () => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.addAfter("a", 1_000, "routine");
  await clock.advance(999);
  expect(queue.depth).toBe(0);
  await clock.advance(1);
  expect(await takeNow(queue)).toBe("a");
  queue.done("a");
  queue.addAfter("a", 1_000, "routine");
  queue.add("a", "underWay");
  expect(await takeNow(queue)).toBe("a");
  queue.done("a");
  await clock.advance(2_000);
  expect(queue.depth).toBe(0);
});

/** Takes the next key and returns its urgency. */
async function takenAs(queue: KeyedQueue<string>): Promise<string | undefined> {
  return (await queue.take())?.urgency;
}

test.each<[string, (queue: KeyedQueue<string>, clock: FakeClock) => unknown]>([
  [
    "when its delay is over",
    (queue, clock) => {
      queue.done("a", "asked");
      queue.addAfter("a", 500, "routine");
      return clock.advance(500);
    },
  ],
  [
    "when a change arrives before its delay is over",
    (queue) => {
      queue.done("a", "asked");
      queue.addAfter("a", 500, "routine");
      queue.add("a", "underWay");
    },
  ],
  [
    "when a change arrived during the pass",
    (queue) => {
      queue.add("a", "underWay");
      queue.done("a", "asked");
      queue.addAfter("a", 500, "routine");
    },
  ],
])("queue: a key keeps its urgency for one more pass after a pass that decided nothing, %s", async (_, comesAgain) => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.add("a", "asked");
  expect(await takenAs(queue)).toBe("asked");
  await comesAgain(queue, clock);
  expect(await takenAs(queue)).toBe("asked");
  queue.done("a");
  queue.add("a", "routine");
  expect(await takenAs(queue)).toBe("routine");
});

test("queue: a key may become more urgent after a pass that decided nothing", async () => {
  const queue = queueOn(new FakeClock());
  queue.add("a", "routine");
  await takenAs(queue);
  queue.done("a", "routine");
  queue.add("a", "asked");
  expect(await takenAs(queue)).toBe("asked");
});

test.each(["before", "after"])(
  "queue: an edit during a pass keeps its urgency, also when another change came %s it",
  async (when) => {
    const queue = queueOn(new FakeClock());
    queue.add("a", "routine");
    await takenAs(queue);
    if (when === "before") queue.add("a", "routine");
    queue.add("a", "asked");
    if (when === "after") queue.add("a", "routine");
    queue.done("a");
    expect(await takenAs(queue)).toBe("asked");
  },
);

test("queue: the earlier of two delays counts", async () => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.addAfter("a", 5_000, "routine");
  queue.addAfter("a", 100, "routine");
  queue.addAfter("a", 9_000, "routine");
  await clock.advance(100);
  expect(queue.depth).toBe(1);
});

test("queue: the age is the waiting time of the key that has waited longest", async () => {
  const clock = new FakeClock();
  const queue = queueOn(clock);
  queue.add("a", "underWay");
  await clock.advance(300);
  queue.add("b", "underWay");
  await clock.advance(200);
  expect(queue.ageMs).toBe(500);
});

test("queue: after it was closed it hands out nothing, also to workers that wait", async () => {
  const queue = queueOn(new FakeClock());
  const waiting = queue.take();
  queue.close();
  queue.add("a", "underWay");
  expect(await waiting).toBeUndefined();
  expect(await queue.take()).toBeUndefined();
});

test("queue: a group may have two keys in process for each slot that it leaves, within the total limit", async () => {
  const queue = new KeyedQueue<string>(
    new FakeClock(),
    (key) => key,
    (key) => key.slice(0, 1),
  );
  queue.limit(3);
  for (const key of ["a1", "a2", "a3", "b1", "b2"]) queue.add(key, "underWay");
  expect([await takeNow(queue), await takeNow(queue), await takeNow(queue)]).toEqual(["a1", "b1", "a2"]);
  expect(await takeNow(queue)).toBe("nothing");
  queue.done("b1");
  expect(queue.depth).toBe(1);
  queue.done("a1");
  expect(await takeNow(queue)).toBe("a3");
});
