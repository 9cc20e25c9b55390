import fc from "fast-check";
import { expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { ToyController, toyTools } from "#kit/tables/toy-controller.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { LONGEST_LOOK_MS, LONGEST_TURN_MS, MOST, MOST_AGAIN, SLOW_MS } from "#runtime/beginnings.ts";
import { ControlLoop } from "#runtime/control-loop.ts";
import type { Key } from "#runtime/controller.ts";
import { step, wait } from "#runtime/decide.ts";
import { KeyedQueue } from "#runtime/queue.ts";
import { URGENCIES } from "#runtime/urgency.ts";

/** A queue of keys written "namespace/name", and the keys that it has handed out. There are always free workers. */
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
  /** Keys that are handed out within so many milliseconds. */
  const after = async (ms: number) => {
    await clock.advance(ms);
    return handed.splice(0);
  };
  return { clock, queue, after };
}

/** New objects, each in its own namespace. */
function newOnes(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `ns-${n}/a`);
}

test("new objects: a limited number has a slot, and the next starts when one has nothing left to do", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 2)) queue.add(key, "new");
  expect(await after(0)).toEqual(newOnes(MOST));
  queue.done("ns-3/a");
  expect(await after(0)).toEqual([]);
  queue.add("ns-3/a", "underWay");
  expect(await after(0)).toEqual(["ns-3/a"]);
  queue.done("ns-3/a", undefined, "ended");
  expect(await after(0)).toEqual([`ns-${MOST}/a`]);
});

test("new objects: a key with a slot is handed out again at once when it changes", async () => {
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

test("new objects: a key gives up its slot when its pass found nothing to do, although it changed during the pass", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.add("ns-0/a", "new");
  queue.done("ns-0/a", undefined, "ended");
  expect(await after(0)).toEqual([`ns-${MOST}/a`]);
  queue.done("ns-1/a", undefined, "ended");
  expect(await after(0)).toEqual(["ns-0/a"]);
});

test("new objects: a hanging pass loses its slot after the longest time of a call, and loses it only once", async () => {
  const { queue, after } = begun();
  const keys = newOnes(2 * MOST + 1);
  for (const key of keys) queue.add(key, "new");
  await after(0);
  expect(await after(LONGEST_LOOK_MS - 1)).toEqual([]);
  expect(await after(1)).toEqual(keys.slice(MOST, 2 * MOST));
  queue.done("ns-0/a", undefined, "ended"); // Its slot is free already and must not be freed twice.
  expect(await after(0)).toEqual([]);
  expect(await after(LONGEST_LOOK_MS)).toEqual(keys.slice(2 * MOST));
});

test("new objects: a slot's time begins when a worker takes the key, however long it waits for one", async () => {
  const { queue, after } = begun();
  queue.limit(3);
  for (const key of ["busy/a", "busier/a", "busiest/a"]) queue.add(key, "underWay");
  await after(0);
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(3 * LONGEST_LOOK_MS);
  queue.limit(100);
  queue.done("busy/a");
  expect(await after(0)).toEqual(newOnes(MOST));
  expect(await after(LONGEST_LOOK_MS - 1)).toEqual([]);
  expect(await after(1)).toEqual([`ns-${MOST}/a`]);
});

test("new objects: a slot that was given up in time leaves no timer that would end the key's next slot", async () => {
  const { queue, after } = begun();
  queue.add("ns-0/a", "new");
  await after(10_000);
  queue.done("ns-0/a", undefined, "ended");
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  expect(await after(LONGEST_LOOK_MS - 1)).toEqual([]);
});

test.each([
  [
    "with an observation that fails late",
    SLOW_MS,
    (queue: KeyedQueue<string>) => queue.done("ns-0/a", undefined, "failed"),
  ],
  ["with a pass that takes too long", LONGEST_LOOK_MS, (queue: KeyedQueue<string>) => queue.done("ns-0/a")],
])("new objects: a key %s waits in the queue for slow keys until it finishes", async (_which, ms, fails) => {
  const { clock, queue, after } = begun();
  queue.add("ns-0/a", "new");
  await after(ms);
  fails(queue);
  const others = newOnes(MOST + 1).slice(1);
  for (const key of others) queue.add(key, "new");
  await after(0);
  queue.add("late/a", "new");
  await clock.advance(100);
  queue.add("ns-0/a", "new");
  expect(await after(0)).toEqual(["ns-0/a"]);
  queue.done("ns-0/a", undefined, "ended");
  expect(await after(0)).toEqual([]);
  queue.add("ns-0/a", "new");
  expect(await after(0)).toEqual([]);
  for (const key of others.slice(0, 2)) queue.done(key, undefined, "ended");
  expect(await after(0)).toEqual(["late/a", "ns-0/a"]);
});

test("new objects: a key that finishes late returns to the main queue", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST_AGAIN + 1)) queue.add(key, "new");
  await after(LONGEST_LOOK_MS);
  for (const key of newOnes(MOST_AGAIN + 1)) queue.done(key, undefined, "ended");
  for (const key of newOnes(MOST_AGAIN + 1)) queue.add(key, "new");
  expect(await after(0)).toHaveLength(MOST_AGAIN + 1);
});

test("new objects: a key that finishes within its time stays in the main queue, however long that took", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST_AGAIN + 1)) queue.add(key, "new");
  await after(2 * SLOW_MS);
  for (const key of newOnes(MOST_AGAIN + 1)) queue.done(key, undefined, "ended");
  for (const key of newOnes(MOST_AGAIN + 1)) queue.add(key, "new");
  expect(await after(0)).toHaveLength(MOST_AGAIN + 1);
});

test("new objects: a key in the queue for slow keys keeps its position, and a user's edit needs no slot", async () => {
  const { queue, after } = begun();
  const keys = newOnes(MOST_AGAIN + 2);
  for (const key of keys) queue.add(key, "new");
  await after(SLOW_MS);
  for (const key of keys) queue.done(key, undefined, "failed");
  for (const key of keys) queue.add(key, "new");
  const [first, last] = keys.slice(MOST_AGAIN);
  for (const urgency of ["new", "routine"] as const) queue.add(first ?? "", urgency);
  await after(0);
  queue.done(keys[0] ?? "", undefined, "ended");
  expect(await after(0)).toEqual([first]);
  queue.add(last ?? "", "asked");
  expect(await after(0)).toEqual([last]);
  expect(queue.depth).toBe(0);
});

test("new objects: a key with a pass that fails at once stays in the main queue", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST_AGAIN + 1)) queue.add(key, "new");
  await after(SLOW_MS - 1);
  for (const key of newOnes(MOST_AGAIN + 1)) queue.done(key, undefined, "failed");
  for (const key of newOnes(MOST_AGAIN + 1)) queue.add(key, "new");
  expect(await after(0)).toHaveLength(MOST_AGAIN + 1);
});

test("new objects: a key that is queued because of a user's edit does not wait for a slot as well", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST)) queue.add(key, "new");
  await after(0);
  queue.limit(MOST); // All workers are busy.
  queue.add("x/a", "asked");
  queue.add("x/a", "new");
  expect(queue.depth).toBe(1);
  queue.limit(100);
  queue.done("ns-0/a", undefined, "ended");
  expect(await after(0)).toEqual(["x/a"]);
  queue.done("ns-1/a", undefined, "ended");
  expect(await after(0)).toEqual([]);
});

test("new objects: each pass may take as long as a call, and all passes with one slot four times that", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  const handed: string[] = [];
  for (let ms = 0; ms < LONGEST_TURN_MS; ms += 10_000) {
    handed.push(...(await after(10_000)));
    for (const key of newOnes(MOST)) queue.done(key);
    for (const key of newOnes(MOST)) queue.add(key, "underWay");
  }
  expect(LONGEST_TURN_MS).toBe(4 * LONGEST_LOOK_MS);
  expect(handed.filter((key) => key === `ns-${MOST}/a`)).toEqual([`ns-${MOST}/a`]);
  expect(handed.indexOf(`ns-${MOST}/a`)).toBe(5 * MOST); // At the end of the minute.
});

test("new objects: the queue for slow keys has its own number of slots, and its keys count as waiting", async () => {
  const { clock, queue, after } = begun();
  const keys = newOnes(MOST_AGAIN + 2);
  for (const key of keys) queue.add(key, "new");
  await after(SLOW_MS);
  for (const key of keys) queue.done(key, undefined, "failed");
  for (const key of keys) queue.add(key, "new");
  expect(await after(0)).toHaveLength(MOST_AGAIN);
  await clock.advance(300);
  expect([queue.depth, queue.ageMs]).toEqual([2, 300]);
});

test.each(["asked", "finishing", "underWay"] as const)(
  "new objects: a key of urgency %s needs no slot",
  async (urgency) => {
    const { queue, after } = begun();
    for (const key of newOnes(MOST + 2)) queue.add(key, "new");
    await after(0);
    const waiting = `ns-${MOST}/a`;
    queue.add(waiting, urgency);
    queue.add("other/a", urgency);
    expect(await after(0)).toEqual([waiting, "other/a"]);
    // It is not handed out again for having waited as a new one.
    queue.done(waiting);
    queue.done("ns-0/a", undefined, "ended");
    expect(await after(0)).toEqual([`ns-${MOST + 1}/a`]);
  },
);

test("new objects: a periodic recheck neither overtakes waiting keys nor delays a waiting key", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.add(`ns-${MOST}/a`, "routine");
  queue.addAfter(`ns-${MOST}/a`, 60_000, "routine");
  expect(await after(0)).toEqual([]);
  queue.done("ns-0/a", undefined, "ended");
  expect(await after(0)).toEqual([`ns-${MOST}/a`]);
  queue.done(`ns-${MOST}/a`);
  expect(await after(60_000)).toEqual([]);
});

test("new objects: keys that wait for a slot count in the queue's depth and age", async () => {
  const { clock, queue, after } = begun();
  for (const key of newOnes(MOST + 2)) queue.add(key, "new");
  await after(0);
  expect(queue.depth).toBe(2);
  await clock.advance(700);
  queue.add(`ns-${MOST}/a`, "new");
  expect(queue.ageMs).toBe(700);
});

test("new objects: a waiting key keeps its position when it changes again", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 2)) queue.add(key, "new");
  await after(0);
  queue.add(`ns-${MOST}/a`, "new");
  queue.add(`ns-${MOST}/a`, "routine");
  queue.done("ns-0/a", undefined, "ended");
  expect(await after(0)).toEqual([`ns-${MOST}/a`]);
});

test("new objects: a waiting key that a user edits keeps its waiting time", async () => {
  const { clock, queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.limit(MOST); // All workers are busy.
  await clock.advance(700);
  queue.add(`ns-${MOST}/a`, "asked");
  expect(queue.ageMs).toBe(700);
});

test("new objects: no key starts after the queue was closed", async () => {
  const { queue, after } = begun();
  for (const key of newOnes(MOST + 1)) queue.add(key, "new");
  await after(0);
  queue.close();
  expect(queue.depth).toBe(0);
  expect(await after(LONGEST_LOOK_MS)).toEqual([]);
});

test("new objects: a namespace alone has two thirds of the slots, and a namespace without a slot is next", async () => {
  const { queue, after } = begun();
  for (let n = 0; n < 100; n++) queue.add(`many/${n}`, "new");
  expect(await after(0)).toHaveLength((MOST * 2) / 3);
  for (const key of ["one/a", "two/a", "three/a"]) queue.add(key, "new");
  expect(await after(0)).toEqual(["one/a", "two/a", "three/a"]);
});

test("new objects: a namespace without slots starts within the computed time, however many others hang", async () => {
  const namespaces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(namespaces, async (sizes) => {
      const { queue, after } = begun();
      for (const [n, size] of sizes.entries())
        for (let each = 0; each < size; each++) queue.add(`hanging-${n}/${each}`, "new");
      await after(0);
      const handed: string[] = [];
      const rounds = Math.ceil((sizes.length + 1) / MOST);
      for (let second = 0; second <= (rounds * LONGEST_LOOK_MS) / 1000; second++) {
        queue.add("late/a", "new");
        handed.push(...(await after(1_000)));
      }
      expect(handed).toContain("late/a");
    }),
    { numRuns: 30 },
  );
});

test("new objects: no key is processed twice at the same time or lost, in any order of events", async () => {
  const happening = fc.oneof(
    fc.record({ does: fc.constant("add" as const), key: fc.nat(39), urgency: fc.constantFrom(...URGENCIES) }),
    fc.record({
      does: fc.constant("done" as const),
      end: fc.constantFrom(undefined, "ended" as const, "failed" as const),
    }),
    fc.record({ does: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
    fc.record({ does: fc.constant("take" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 150 }), async (happenings) => {
      const clock = new FakeClock(undefined, 1);
      const textOf = (key: number) => `${key % 7}/${key}`;
      const queue = new KeyedQueue<number>(clock, textOf, (key) => String(key % 7));
      queue.limit(15);
      const [working, wanted] = [new Set<number>(), new Set<number>()];
      const twice: number[] = [];
      let free = 0;
      const take = () => {
        free += 1;
        void queue.take().then((item) => {
          if (item === undefined) return;
          free -= 1;
          if (working.has(item.key)) twice.push(item.key);
          working.add(item.key);
          wanted.delete(item.key);
        });
      };
      const done = (end?: "ended" | "failed") => {
        const [key] = working;
        if (key === undefined) return;
        working.delete(key);
        queue.done(key, undefined, end);
      };
      for (const each of happenings) {
        if (each.does === "add") wanted.add(each.key);
        if (each.does === "add") queue.add(each.key, each.urgency);
        if (each.does === "take" && free < 5) take();
        if (each.does === "done") done(each.end);
        await clock.advance(each.does === "pass" ? each.ms : 0);
      }
      for (let round = 0; round < 200 && wanted.size + working.size > 0; round++) {
        if (free === 0) take();
        done("ended");
        await clock.advance(100);
      }
      expect({ twice, lost: [...wanted], depth: queue.depth }).toEqual({ twice: [], lost: [], depth: 0 });
    }),
    { numRuns: 200 },
  );
});

test("new objects: fifty namespaces with failing or hanging clusters delay two hundred others by one slot's time each", async () => {
  const { clock, tools } = toyTools();
  const [GOOD, BAD, LOOKS] = [200, 50, 8];
  const made = new Map<string, number>();
  let isOver = 0;
  class New extends ToyController {
    override stageOf = ({ name }: Key) => ((made.get(name) ?? 0) >= LOOKS ? "settled" : "new") as "settled" | "new";
    override async observe(key: Key, signal: AbortSignal) {
      if (key.namespace !== "good") {
        await clock.sleep(key.namespace.endsWith("1") ? 20 : 18_000);
        throw new Error("no");
      }
      await clock.sleep(100);
      const looks = (made.get(key.name) ?? 0) + 1;
      made.set(key.name, looks);
      if (looks === 1) throw new Error("not yet"); // As when a webhook is unavailable for a moment.
      if (looks === LOOKS) isOver += 1;
      this.next =
        looks < LOOKS
          ? { rule: "paint", ...step("it is bare", { do: `paint ${looks}` }) }
          : { rule: "dry", ...wait("it dries", 600_000) };
      return await super.observe(key, signal);
    }
  }
  const bad = Array.from({ length: BAD }, (_, n) => ({ namespace: `bad-${n}`, name: `bad-${n}` }));
  const good = Array.from({ length: GOOD }, (_, n) => ({ namespace: "good", name: `good-${n}` }));
  const loop = new ControlLoop({ controller: new New(), watches: [], allKeys: () => [...bad, ...good], tools });
  const stop = new AbortController();
  void loop.run(stop.signal, 100);
  let seconds = 0;
  for (; seconds < 300 && isOver < GOOD; seconds++) for (let n = 0; n < 20; n++) await clock.advance(50);
  // One turn of each hanging key, twelve at a time, and then the others' own time, eight of a namespace at a time.
  const [turns, own] = [Math.ceil(BAD / MOST) * (LONGEST_LOOK_MS / 1000), (GOOD * LOOKS * 0.1) / ((MOST * 2) / 3)];
  expect(seconds).toBeLessThan(turns + 2 * own);
  stop.abort();
});

/** Result of a pass of an object. */
type Look = "step" | "wait" | "hang" | "fail" | "conflict" | "gone" | "unseen" | "refused";

/**
 * A loop of new objects with passes that end as `looks` lists; the last entry repeats. @returns how many had their nth pass
 */
function looping(count: number, looks: readonly Look[]) {
  const { clock, tools } = toyTools();
  const times = new Map<string, number>();
  class New extends ToyController {
    override stageOf = () => "new" as const;
    override async observe(key: Key, signal: AbortSignal): Promise<Observed<number>> {
      const before = times.get(key.name) ?? 0;
      times.set(key.name, before + 1);
      await clock.sleep(10);
      const look = looks[Math.min(before, looks.length - 1)];
      if (look === "hang") await new Promise(() => {});
      if (look === "fail") throw new Error("no");
      if (look === "conflict") throw new OperatorError("KubeConflict", "it is another one");
      if (look === "gone") return absent;
      this.acting =
        look === "refused"
          ? () => Promise.reject(new OperatorError("KubeForbidden", "no"))
          : () => Promise.resolve({ kind: "external" });
      this.next =
        look === "wait"
          ? { rule: "dry", ...wait("it dries", 100) }
          : { rule: "paint", ...step("it is bare", { do: "paint" }) };
      await super.observe(key, signal);
      return look === "unseen" ? unseen(key) : present(1);
    }
  }
  /** From now on the cache does not show what this pass has written. */
  const unseen = ({ name }: Key): Observed<number> => {
    waiting.add(name);
    return present(1);
  };
  const waiting = new Set<string>();
  const unmet = tools.expectations.unmet.bind(tools.expectations);
  tools.expectations.unmet = (owner) => (waiting.has(owner.name) ? "what it wrote" : unmet(owner));
  const keys = Array.from({ length: count }, (_, n) => ({ namespace: `ns-${n}`, name: `a${n}` }));
  const loop = new ControlLoop({ controller: new New(), watches: [], allKeys: () => keys, tools });
  const stop = new AbortController();
  void loop.run(stop.signal, 100);
  return { looked: (nth: number) => [...times.values()].filter((each) => each >= nth).length, clock, stop };
}

test.each([
  ["wait for the cluster after two steps, all", ["step", "step", "wait"], 3 * MOST],
  ["find no object, all", ["gone"], 3 * MOST],
  ["fail, all", ["fail"], 3 * MOST],
  ["make a rejected step, all", ["refused"], 3 * MOST],
  ["hang, one per slot", ["hang"], MOST],
  ["hang after a step, one per slot", ["step", "hang"], MOST],
  ["meet a conflict and then hang, one per slot", ["conflict", "hang"], MOST],
  ["wait for their own write, one per slot", ["unseen"], MOST],
] as const)("new objects: of objects with passes that %s are started within a second", async (_what, looks, count) => {
  const { looked, clock, stop } = looping(3 * MOST, looks);
  for (let n = 0; n < 10; n++) await clock.advance(100);
  expect(looked(1)).toBe(count);
  stop.abort();
});

test("new objects: objects that wait take no slot at each recheck", async () => {
  const { looked, clock, stop } = looping(3 * MOST, ["wait", "hang"]);
  for (let n = 0; n < 10; n++) await clock.advance(100);
  expect(looked(2)).toBe(3 * MOST);
  stop.abort();
});

test("new objects: objects with a rejected step take a slot each when the step is retried", async () => {
  const { looked, clock, stop } = looping(3 * MOST, ["refused", "step", "hang"]);
  for (let n = 0; n < 50; n++) await clock.advance(100);
  expect(looked(3)).toBe(MOST);
  stop.abort();
});
