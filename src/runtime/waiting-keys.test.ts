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

/** Keys of urgency "new" if none is told, while each namespace has so many places of three hundred. */
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
    "the more urgent first, and equals in order of arrival",
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
    "among equals namespaces take turns",
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
    "of two urgencies of one key the greater one counts",
    [
      ["a/1", "routine"],
      ["a/2", "new"],
      ["a/1", "asked"],
      ["a/1", "underWay"],
    ],
    ["a/1", "a/2"],
  ],
  [
    "what people ask for has every other turn of its namespace while others wait there",
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
    "the turn after an edit's is that of the namespace that has been without one for longest",
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
    "the turn after that is an edit's again, whoever had it",
    [
      ["a/1", "asked"],
      ["b/1", "asked"],
      ["c/1", "routine"],
      ["d/1", "asked"],
    ],
    ["a/1", "b/1", "d/1", "c/1"],
  ],
  [
    "a namespace whose only key has become more urgent has no turn besides",
    [
      ["a/1", "new"],
      ["b/1", "routine"],
      ["c/1", "routine"],
      ["a/1", "asked"],
    ],
    ["a/1", "b/1", "c/1"],
  ],
  [
    "no namespace has two turns one after the other while another one waits",
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
    "nor has it them because it has waited longest",
    [
      ...Array.from({ length: 6 }, (_, n) => [`a/${n}`, "new"] as const),
      ...Array.from({ length: 6 }, (_, n) => [`b/${n}`, "new"] as const),
    ],
    ["a/0", "b/0", "a/1", "b/1", "a/2", "b/2", "a/3", "b/3", "a/4", "b/4", "a/5", "b/5"],
  ],
  [
    "who has waited longest has the turn after that one when its namespace had the last one",
    [
      ["a/0", "routine"],
      ["b/0", "routine"],
      ...Array.from({ length: 12 }, (_, n) => [`${n % 2 === 0 ? "a" : "b"}/${Math.floor(n / 2) + 1}`, "new"] as const),
    ],
    ["a/1", "b/1", "a/2", "b/2", "a/3", "b/3", "a/4", "b/4", "a/0", "b/5", "a/5", "b/6", "a/6", "b/0"],
  ],
  [
    "one turn in eight is that of who has waited longest",
    [["a/0", "routine"], ...Array.from({ length: 9 }, (_, n) => [`a/${n + 1}`, "new"] as const)],
    ["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/0", "a/8", "a/9"],
  ],
])("waiting: %s", (_, keys, expected) => {
  expect(order(waiting(...keys))).toEqual(expected);
});

test("waiting: who waits already keeps its time, and its place among those who have waited longest", () => {
  const all = waiting(["a/1", "new"], ["a/2", "new"], ["a/1", "asked"]);
  expect([all.size, all.has("a/1"), all.has("a/3"), all.oldest]).toMatchObject([2, true, false, { key: "a/1" }]);
  expect(all.next()).toMatchObject({ key: "a/1", readyAtMs: 0, urgency: "asked" });
  expect(all.oldest).toMatchObject({ key: "a/2", readyAtMs: 1 });
  all.clear();
  expect([all.size, all.oldest, all.next()]).toEqual([0, undefined, undefined]);
});

/** What happens: somebody becomes ready, again and again, or a worker is free. */
const happening = fc.oneof(
  fc.record({ key: fc.nat(30), group: fc.nat(3), urgency: fc.constantFrom(...URGENCIES) }),
  fc.constant("take" as const),
);

test("waiting: whatever storms, nobody waits longer than for eight turns of each who came before, and one", () => {
  const eachTurn = (events: readonly (typeof happening extends fc.Arbitrary<infer T> ? T : never)[]) => {
    const all = waiting();
    /** Who waits, and how many turns it may take at most. */
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
    // Nobody is lost, and nobody comes twice.
    expect([...order(all)].sort()).toEqual([...bounds.keys()].sort());
  };
  fc.assert(fc.property(fc.array(happening, { maxLength: 400 }), eachTurn), { numRuns: 300 });
});

/** Of how many turns so many are a namespace's whose keys wait again as soon as they had theirs, beside others that always wait, too. */
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

test("waiting: no namespace has more than half of the turns while another one waits, whatever it does", () => {
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

test("waiting: however many namespaces never stop to edit, each has its turn among twice as many turns as namespaces wait", () => {
  const leastOf = (storming: readonly (readonly Urgency[])[], others: readonly (readonly Urgency[])[]) => {
    const namespaces = storming.length + others.length;
    const edits = storming.map((urgencies) => ["asked" as const, ...urgencies]);
    const turns = 100 * 8 * namespaces;
    // Of each eight turns one may be anybody's.
    const least = Math.floor(((7 / 8) * turns) / (2 * namespaces)) - 1;
    expect(Math.min(...turnsOf(edits, others, turns))).toBeGreaterThanOrEqual(least);
  };
  const some = fc.array(wishes, { minLength: 1, maxLength: 4 });
  fc.assert(fc.property(some, some, leastOf), { numRuns: 100 });
});

test("waiting: an edit is the next but one, however many creations wait, and beside another namespace's edits for one of them", () => {
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
  ["of equals who has the fewest places", { a: 2, b: 1, c: 2 }, ["a/1", "b/1", "c/1"], ["b/1", "a/1", "c/1"]],
  [
    "whoever has none, though others are before it",
    { a: 1, b: 1 },
    ["a/1", "b/1", "c/1", "d/1"],
    ["c/1", "d/1", "a/1", "b/1"],
  ],
  ["who is more urgent, though it has more places", { a: 2, b: 1, c: 2 }, [["a/1", "asked"], "b/1"], ["a/1", "b/1"]],
  [
    "nobody else than who has less than all others together",
    { a: 2, b: 1 },
    [["a/1", "asked"], "b/1", "b/2", ["b/3", "routine"]],
    ["b/1", "b/2", "b/3", "a/1"],
  ],
  ["nobody whose namespace may have no more", { a: 200 }, ["a/1", "b/1", "b/2"], ["b/1", "b/2"]],
  ["nobody where none is left", { a: 100, b: 100, c: 100 }, ["d/1"], []],
  [
    "of who may be next, every eighth time who has waited longest",
    { a: 200, b: 5, c: 5 },
    ["a/1", ["b/0", "routine"], ...Array.from({ length: 8 }, (_, n) => `b/${n + 1}`)],
    ["b/1", "b/2", "b/3", "b/4", "b/5", "b/6", "b/7", "b/0", "b/8"],
  ],
  [
    "that one, too, not of who has more than all others together",
    { a: 70, b: 30, c: 30 },
    ["a/1", ["b/0", "routine"], ...Array.from({ length: 8 }, (_, n) => `b/${n + 1}`)],
    ["b/1", "b/2", "b/3", "b/4", "b/5", "b/6", "b/7", "b/0", "b/8", "a/1"],
  ],
])("waiting: while others are worked on, the next is %s", (_, taken, keys, expected) => {
  expect(order(waitingBeside(taken, ...keys).all)).toEqual(expected);
});

test("waiting: to be asked in vain is no turn", () => {
  const keys = Array.from({ length: 9 }, (_, n) => `a/${n + 1}`);
  const { all, places } = waitingBeside({ a: 200 }, ["a/0", "routine"], ...keys);
  for (let n = 0; n < 6; n++) expect(all.next()).toBeUndefined();
  for (let n = 0; n < 200; n++) places.leave("a");
  expect(order(all).slice(0, 8)).toEqual(["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/0"]);
});
