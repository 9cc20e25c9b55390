import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "#kit/fake-clock.ts";
import { ToyController, toyTools } from "#kit/toy-controller.ts";
import { LONGEST_MS, MOST } from "#runtime/beginnings.ts";
import { ControlLoop } from "#runtime/control-loop.ts";
import type { Key } from "#runtime/controller.ts";
import { step, wait } from "#runtime/decide.ts";
import { KeyedQueue } from "#runtime/queue.ts";

/** A queue of keys that are written "namespace/name", and what it has handed out. Nobody is short of workers. */
function begun() {
  const clock = new FakeClock();
  const queue = new KeyedQueue<string>(
    clock,
    (key) => key,
    (key) => key.split("/")[0] ?? "",
  );
  const handed: string[] = [];
  const takeAll = async (): Promise<void> => {
    for (let item = await queue.take(); item !== undefined; item = await queue.take()) handed.push(item.key);
  };
  void takeAll();
  /** What is handed out within so many milliseconds. */
  const after = async (ms: number) => {
    await clock.advance(ms);
    return handed.splice(0);
  };
  return { clock, queue, after };
}

/** New objects of as many namespaces. */
function newOnes(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `ns-${n}/a`);
}

test("beginnings: so many are begun side by side, and the next one when one of them has nothing to do", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 2)) queue.add(key, "new");
  expect(await after(0)).toEqual(newOnes(MOST));
  queue.done("ns-3/a");
  expect(await after(0)).toEqual([]);
  queue.add("ns-3/a", "underWay");
  expect(await after(0)).toEqual(["ns-3/a"]);
  queue.done("ns-3/a", undefined, true);
  expect(await after(0)).toEqual([`ns-${MOST}/a`]);
});

test("beginnings: one that is being begun comes again at once, also while it is new", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.done("ns-0/a");
  queue.add("ns-0/a", "new");
  expect(await after(0)).toEqual(["ns-0/a"]);
  queue.add("ns-0/a", "new");
  queue.done("ns-0/a");
  expect(await after(0)).toEqual(["ns-0/a"]);
});

test("beginnings: one that had nothing to do and has changed meanwhile has no place any more", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.add("ns-0/a", "new");
  queue.done("ns-0/a", undefined, true);
  expect(await after(0)).toEqual([`ns-${MOST}/a`]);
  queue.done("ns-1/a", undefined, true);
  expect(await after(0)).toEqual(["ns-0/a"]);
});

test("beginnings: whatever becomes of them, as many more are begun after the time of a call that hangs", async () => {
  const { queue, after } = begun();
  const keys = newOnes(2 * MOST + 1);
  for (const key of keys) queue.add(key, "new");
  await after(0);
  expect(await after(LONGEST_MS - 1)).toEqual([]);
  expect(await after(1)).toEqual(keys.slice(MOST, 2 * MOST));
  queue.done("ns-0/a", undefined, true); // It counts no more: it leaves no place twice.
  expect(await after(0)).toEqual([]);
  expect(await after(LONGEST_MS)).toEqual(keys.slice(2 * MOST));
});

test.each(["asked", "finishing", "underWay"] as const)("beginnings: what is %s waits for no place", async (urgency) => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 2)) queue.add(key, "new");
  await after(0);
  const waiting = `ns-${MOST}/a`;
  queue.add(waiting, urgency);
  queue.add("other/a", urgency);
  expect(await after(0)).toEqual([waiting, "other/a"]);
  // It does not come again for having waited as a new one.
  queue.done(waiting);
  queue.done("ns-0/a", undefined, true);
  expect(await after(0)).toEqual([`ns-${MOST + 1}/a`]);
});

test("beginnings: a look because it is time for one does not overtake those that wait, nor make one wait longer", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.add(`ns-${MOST}/a`, "routine");
  queue.addAfter(`ns-${MOST}/a`, 60_000, "routine");
  expect(await after(0)).toEqual([]);
  queue.done("ns-0/a", undefined, true);
  expect(await after(0)).toEqual([`ns-${MOST}/a`]);
  queue.done(`ns-${MOST}/a`);
  expect(await after(60_000)).toEqual([]);
});

test("beginnings: those that wait are counted among those of the queue, and so is for how long", async () => {
  const { clock, queue, after } = begun();
  for (const key of newOnes(MOST + 2)) queue.add(key, "new");
  await after(0);
  expect(queue.depth).toBe(2);
  await clock.advance(700);
  queue.add(`ns-${MOST}/a`, "new");
  expect(queue.ageMs).toBe(700);
});

test("beginnings: one that has waited and is asked for has waited since then", async () => {
  const { clock, queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.limit(MOST); // All workers have something to do.
  await clock.advance(700);
  queue.add(`ns-${MOST}/a`, "asked");
  expect(queue.ageMs).toBe(700);
});

test("beginnings: closed, nobody is begun any more", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.close();
  expect(queue.depth).toBe(0);
  expect(await after(LONGEST_MS)).toEqual([]);
});

test("beginnings: a namespace alone has two thirds of the places, and one that has none is next", async () => {
  const { queue, after } = begun();
  for (let n = 0; n < 100; n++) queue.add(`many/${n}`, "new");
  expect(await after(0)).toHaveLength((MOST * 2) / 3);
  for (const key of ["one/a", "two/a", "three/a"]) queue.add(key, "new");
  expect(await after(0)).toEqual(["one/a", "two/a", "three/a"]);
});

test("beginnings: who has none of the places begins in the time that is computed, whoever hangs", async () => {
  const namespaces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(namespaces, async (sizes) => {
      const { queue, after } = begun();
      for (const [n, size] of sizes.entries())
        for (let each = 0; each < size; each++) queue.add(`hanging-${n}/${each}`, "new");
      await after(0);
      queue.add("late/a", "new");
      const rounds = Math.ceil((sizes.length + 1) / MOST);
      expect(await after(rounds * LONGEST_MS)).toContain("late/a");
    }),
    { numRuns: 50 },
  );
});

/** A loop of new objects, each of which does what `looks` says, look by look; the last for ever. */
function looping(count: number, looks: readonly ("step" | "wait" | "hang" | "fail")[]) {
  const { clock, tools } = toyTools();
  const looked: string[] = [];
  class New extends ToyController {
    override stageOf = () => "new" as const;
    override async observe(key: Key, signal: AbortSignal) {
      const before = looked.filter((name) => name === key.name).length;
      looked.push(key.name);
      await clock.sleep(10);
      const look = looks[Math.min(before, looks.length - 1)];
      if (look === "hang") await new Promise(() => {});
      if (look === "fail") throw new Error("no");
      this.next = look === "step" ? step("paint", "it is bare", { do: "paint" }) : wait("dry", "it dries", 60_000);
      return await super.observe(key, signal);
    }
  }
  const keys = Array.from({ length: count }, (_, n) => ({ namespace: `ns-${n}`, name: `a${n}` }));
  const loop = new ControlLoop({ controller: new New(), watches: [], allKeys: () => keys, tools });
  const stop = new AbortController();
  void loop.run(stop.signal, 100);
  return { looked: () => new Set(looked).size, clock, stop };
}

test.each([
  ["wait for the world when all is made, all", ["step", "step", "wait"], 3 * MOST],
  ["hang, so many", ["hang"], MOST],
  ["fail, so many", ["fail"], MOST],
  ["hang after a step, so many", ["step", "hang"], MOST],
] as const)("beginnings: of objects whose looks %s are begun within a second", async (_what, looks, count) => {
  const { looked, clock, stop } = looping(3 * MOST, looks);
  for (let n = 0; n < 10; n++) await clock.advance(100);
  expect(looked()).toBe(count);
  stop.abort();
});
