import fc from "fast-check";
import { expect, test } from "vitest";
import { Places } from "#runtime/places.ts";
import { TURNS_TO_THE_OLDEST, URGENCIES, type Urgency } from "#runtime/urgency.ts";
import { WaitingKeys } from "#runtime/waiting-keys.ts";

/** Keys are written "namespace/name". */
function waiting(...keys: readonly (readonly [string, Urgency])[]) {
  const all = new WaitingKeys<string>(
    (key) => key,
    (key) => key.split("/")[0] ?? "",
  );
  for (const [n, [key, urgency]] of keys.entries()) all.add({ key, urgency, readyAtMs: n });
  return all;
}

/** Keys, of urgency "new" by default, while the namespaces use these numbers of three hundred slots. */
function waitingBeside(
  taken: Readonly<Record<string, number>>,
  ...keys: readonly (string | readonly [string, Urgency])[]
) {
  const places = new Places();
  places.most = 300;
  for (const [namespace, count] of Object.entries(taken)) for (let n = 0; n < count; n++) places.take(namespace);
  const all = new WaitingKeys<string>(
    (key) => key,
    (key) => key.split("/")[0] ?? "",
    places,
  );
  for (const [readyAtMs, each] of keys.entries()) {
    const [key, urgency] = typeof each === "string" ? ([each, "new"] as const) : each;
    all.add({ key, urgency, readyAtMs });
  }
  return { all, places };
}

function order(all: WaitingKeys<string>): readonly string[] {
  const taken: string[] = [];
  for (let item = all.next(); item !== undefined; item = all.next()) taken.push(item.key);
  return taken;
}

test.each<[string, readonly (readonly [string, Urgency])[], readonly string[]]>([
  [
    "keys are handed out by urgency, and equals in order of arrival",
    [
      ["a/1", "routine"],
      ["a/2", "new"],
      ["a/3", "underWay"],
      ["a/4", "finishing"],
      ["a/5", "asked"],
      ["a/6", "finishing"],
    ],
    ["a/5", "a/4", "a/6", "a/3", "a/2", "a/1"],
  ],
  [
    "namespaces take turns among keys of equal urgency",
    [
      ["a/1", "new"],
      ["a/2", "new"],
      ["a/3", "new"],
      ["b/1", "new"],
      ["c/1", "new"],
      ["c/2", "new"],
    ],
    ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"],
  ],
  [
    "a key that is added with two urgencies has the greater one",
    [
      ["a/1", "routine"],
      ["a/2", "new"],
      ["a/1", "asked"],
      ["a/1", "underWay"],
    ],
    ["a/1", "a/2"],
  ],
  [
    "edits have every other turn of their namespace while other keys of it wait",
    [
      ["a/0", "routine"],
      ["a/1", "asked"],
      ["a/2", "asked"],
      ["a/3", "asked"],
      ["b/1", "new"],
      ["a/4", "asked"],
    ],
    ["a/1", "b/1", "a/0", "a/2", "a/3", "a/4"],
  ],
  [
    "after an edit the namespace that has waited longest for a turn is next",
    [
      ["d/1", "new"],
      ["a/1", "asked"],
      ["b/1", "finishing"],
      ["a/2", "asked"],
      ["b/2", "finishing"],
      ["c/1", "routine"],
    ],
    ["a/1", "d/1", "a/2", "b/1", "c/1", "b/2"],
  ],
  [
    "after such a turn an edit is next again, of whichever namespace",
    [
      ["a/1", "asked"],
      ["b/1", "asked"],
      ["c/1", "routine"],
      ["d/1", "asked"],
    ],
    ["a/1", "b/1", "d/1", "c/1"],
  ],
  [
    "a namespace has no extra turn when its only key becomes more urgent",
    [
      ["a/1", "new"],
      ["b/1", "routine"],
      ["c/1", "routine"],
      ["a/1", "asked"],
    ],
    ["a/1", "b/1", "c/1"],
  ],
  [
    "no namespace has two turns in a row while another namespace waits",
    [
      ["a/1", "finishing"],
      ["a/2", "finishing"],
      ["a/3", "finishing"],
      ["b/1", "routine"],
      ["c/1", "new"],
    ],
    ["a/1", "c/1", "a/2", "b/1", "a/3"],
  ],
  [
    "no namespace has two turns in a row because its key has waited longest",
    [
      ...Array.from({ length: 6 }, (_, n) => [`a/${n}`, "new"] as const),
      ...Array.from({ length: 6 }, (_, n) => [`b/${n}`, "new"] as const),
    ],
    ["a/0", "b/0", "a/1", "b/1", "a/2", "b/2", "a/3", "b/3", "a/4", "b/4", "a/5", "b/5"],
  ],
  [
    "the key that has waited longest is the next but one when its namespace had the last turn",
    [
      ["a/0", "routine"],
      ["b/0", "routine"],
      ...Array.from({ length: 12 }, (_, n) => [`${n % 2 === 0 ? "a" : "b"}/${Math.floor(n / 2) + 1}`, "new"] as const),
    ],
    ["a/1", "b/1", "a/2", "b/2", "a/3", "b/3", "a/4", "b/4", "a/0", "b/5", "a/5", "b/6", "a/6", "b/0"],
  ],
  [
    "the key that has waited longest has one turn in eight",
    [["a/0", "routine"], ...Array.from({ length: 9 }, (_, n) => [`a/${n + 1}`, "new"] as const)],
    ["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/0", "a/8", "a/9"],
  ],
])("waiting keys: %s", (_, keys, expected) => {
  expect(order(waiting(...keys))).toEqual(expected);
});

test("waiting keys: a key that is added again keeps its waiting time and its rank by it", () => {
  const all = waiting(["a/1", "new"], ["a/2", "new"], ["a/1", "asked"]);
  expect([all.size, all.has("a/1"), all.has("a/3"), all.oldest]).toMatchObject([2, true, false, { key: "a/1" }]);
  expect(all.next()).toMatchObject({ key: "a/1", readyAtMs: 0, urgency: "asked" });
  expect(all.oldest).toMatchObject({ key: "a/2", readyAtMs: 1 });
  all.clear();
  expect([all.size, all.oldest, all.next()]).toEqual([0, undefined, undefined]);
});

/** Events: a key becomes ready, perhaps again, or a worker is free. */
const happening = fc.oneof(
  fc.record({ key: fc.nat(30), group: fc.nat(3), urgency: fc.constantFrom(...URGENCIES) }),
  fc.constant("take" as const),
);

test("waiting keys: a key waits at most eight turns for each key before it, and one more", () => {
  const eachTurn = (events: readonly (typeof happening extends fc.Arbitrary<infer T> ? T : never)[]) => {
    const all = waiting();
    /** Waiting keys, and how many turns each may take at most. */
    const bounds = new Map<string, number>();
    for (const event of events) {
      if (event !== "take") {
        const key = `${event.group}/${event.key}`;
        if (!all.has(key)) bounds.set(key, TURNS_TO_THE_OLDEST * (all.size + 1) + 1);
        all.add({ key, urgency: event.urgency, readyAtMs: 0 });
        continue;
      }
      const taken = all.next();
      if (taken === undefined) continue;
      bounds.delete(taken.key);
      for (const [key, left] of bounds) {
        expect(left, key).toBeGreaterThan(1);
        bounds.set(key, left - 1);
      }
    }
    // No key is lost or handed out twice.
    expect([...order(all)].sort()).toEqual([...bounds.keys()].sort());
  };
  fc.assert(fc.property(fc.array(happening, { maxLength: 400 }), eachTurn), { numRuns: 300 });
});

/** Counts the turns of a namespace that always requeues its keys, beside other namespaces that always wait, too. */
function turnsOf(
  storming: readonly (readonly Urgency[])[],
  others: readonly (readonly Urgency[])[],
  turns: number,
): readonly number[] {
  const all = waiting();
  const keys = [...storming, ...others].flatMap((urgencies, group) =>
    urgencies.map((urgency, n) => ({ key: `${group}/${n}`, urgency, readyAtMs: 0 })),
  );
  for (const item of keys) all.add(item);
  const had = [...storming, ...others].map(() => 0);
  for (let turn = 0; turn < turns; turn++) {
    const group = Number(all.next()?.key.split("/")[0]);
    had[group] = (had[group] ?? 0) + 1;
    for (const item of keys) all.add(item);
  }
  return had;
}

const wishes = fc.array(fc.constantFrom(...URGENCIES), { minLength: 1, maxLength: 6 });

test("waiting keys: no namespace has more than half of the turns while another namespace waits", () => {
  const share = (storm: readonly Urgency[], others: readonly (readonly Urgency[])[]) => {
    const [had = 0] = turnsOf([storm], others, 800);
    expect(had).toBeLessThanOrEqual(400);
  };
  fc.assert(fc.property(wishes, fc.array(wishes, { minLength: 1, maxLength: 8 }), share), { numRuns: 300 });
  for (const others of [1, 2, 9])
    share(
      ["asked", "finishing", "underWay"],
      Array.from({ length: others }, () => ["routine"] as const),
    );
});

test("waiting keys: with any number of namespaces that always edit, each namespace has its share of turns", () => {
  const leastOf = (storming: readonly (readonly Urgency[])[], others: readonly (readonly Urgency[])[]) => {
    const namespaces = storming.length + others.length;
    const edits = storming.map((urgencies) => ["asked" as const, ...urgencies]);
    const turns = 100 * 8 * namespaces;
    // Of each eight turns one may belong to any namespace.
    const least = Math.floor(((7 / 8) * turns) / (2 * namespaces)) - 1;
    expect(Math.min(...turnsOf(edits, others, turns))).toBeGreaterThanOrEqual(least);
  };
  const some = fc.array(wishes, { minLength: 1, maxLength: 4 });
  fc.assert(fc.property(some, some, leastOf), { numRuns: 100 });
});

test("waiting keys: an edit is at most the third to be handed out, whatever other namespaces create or edit", () => {
  const storm = Array.from(
    { length: 1_000 },
    (_, n) => [`storm/${n}`, n % 3 === 0 ? "underWay" : "finishing"] as const,
  );
  const taken = order(waiting(...storm, ["calm/db", "asked"]));
  expect(taken.indexOf("calm/db")).toBeLessThanOrEqual(1);
  const edits = Array.from({ length: 1_000 }, (_, n) => [`storm/${n}`, "asked"] as const);
  expect(order(waiting(...edits, ["calm/db", "asked"])).indexOf("calm/db")).toBeLessThanOrEqual(2);
});

test.each<[string, Record<string, number>, readonly (string | readonly [string, Urgency])[], readonly string[]]>([
  [
    "of the namespace with the fewest slots in use among equals",
    { a: 2, b: 1, c: 2 },
    ["a/1", "b/1", "c/1"],
    ["b/1", "a/1", "c/1"],
  ],
  [
    "of a namespace without slots, though others have waited longer",
    { a: 1, b: 1 },
    ["a/1", "b/1", "c/1", "d/1"],
    ["c/1", "d/1", "a/1", "b/1"],
  ],
  [
    "the more urgent one, though its namespace uses more slots",
    { a: 2, b: 1, c: 2 },
    [["a/1", "asked"], "b/1"],
    ["a/1", "b/1"],
  ],
  [
    "of a namespace that uses at most as many slots as all others together",
    { a: 2, b: 1 },
    [["a/1", "asked"], "b/1", "b/2", ["b/3", "routine"]],
    ["b/1", "b/2", "b/3", "a/1"],
  ],
  ["not of a namespace at its limit", { a: 200 }, ["a/1", "b/1", "b/2"], ["b/1", "b/2"]],
  ["none when no slot is free", { a: 100, b: 100, c: 100 }, ["d/1"], []],
  [
    "every eighth time the one that has waited longest, of those that may be next",
    { a: 200, b: 5, c: 5 },
    ["a/1", ["b/0", "routine"], ...Array.from({ length: 8 }, (_, n) => `b/${n + 1}`)],
    ["b/1", "b/2", "b/3", "b/4", "b/5", "b/6", "b/7", "b/0", "b/8"],
  ],
  [
    "never the longest waiting one of a namespace that uses more slots than all others together",
    { a: 70, b: 30, c: 30 },
    ["a/1", ["b/0", "routine"], ...Array.from({ length: 8 }, (_, n) => `b/${n + 1}`)],
    ["b/1", "b/2", "b/3", "b/4", "b/5", "b/6", "b/7", "b/0", "b/8", "a/1"],
  ],
])("waiting keys: while others are processed, the next key is %s", (_, taken, keys, expected) => {
  expect(order(waitingBeside(taken, ...keys).all)).toEqual(expected);
});

test("waiting keys: an attempt that hands out no key does not count as a turn", () => {
  const keys = Array.from({ length: 9 }, (_, n) => `a/${n + 1}`);
  const { all, places } = waitingBeside({ a: 200 }, ["a/0", "routine"], ...keys);
  for (let n = 0; n < 6; n++) expect(all.next()).toBeUndefined();
  for (let n = 0; n < 200; n++) places.leave("a");
  expect(order(all).slice(0, 8)).toEqual(["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/0"]);
});
