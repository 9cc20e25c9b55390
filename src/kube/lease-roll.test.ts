import { expect, test } from "vitest";
import type { Lease } from "./kinds.ts";
import { aliveIn, nextRoll, ROLL_ANNOTATION, rollOf, rollText, seenRoll } from "./lease-roll.ts";

const GROUP = "shards-rule1-of-3";

function lease(holderIdentity: string, roll?: string): Lease {
  const annotations = roll === undefined ? {} : { [ROLL_ANNOTATION]: roll };
  return { metadata: { annotations }, spec: { holderIdentity } } as unknown as Lease;
}

const map = (of: Record<string, number>) => new Map(Object.entries(of));

test.each([
  ["no lease has an empty roll", undefined, {}],
  ["a lease of the group says who counts on", lease(GROUP, '{"a":3,"b":0}'), { a: 3, b: 0 }],
  [
    "a roll that was left by the group is of former times when somebody else holds the lease",
    lease("c", '{"a":3}'),
    {},
  ],
  ["a roll that was left by the group is of former times when nobody holds the lease", lease("", '{"a":3}'), {}],
  ["on a lease of the group without a roll somebody unknown stands", lease(GROUP), { "?": 0 }],
  ["on a roll that is no JSON somebody unknown stands", lease(GROUP, "{"), { "?": 0 }],
  ["on a roll that is a list somebody unknown stands", lease(GROUP, "[1]"), { "?": 0 }],
  ["on a roll that is null somebody unknown stands", lease(GROUP, "null"), { "?": 0 }],
  ["on a roll that is a number somebody unknown stands", lease(GROUP, "7"), { "?": 0 }],
  ["on a roll with a count that is none somebody unknown stands", lease(GROUP, '{"a":1,"b":"1"}'), { "?": 0 }],
])("%s", (_title, given, expected) => {
  expect(rollOf(given, GROUP)).toEqual(map(expected));
});

test("a roll is written in the order of names, and read as it was", () => {
  const roll = map({ b: 2, a: 1, c: 3 });
  expect(rollText(roll)).toBe('{"a":1,"b":2,"c":3}');
  expect(rollOf(lease(GROUP, rollText(roll)), GROUP)).toEqual(roll);
});

test("a count that has changed is of now, the others are of before, and who is gone is forgotten", () => {
  const before = seenRoll(new Map(), map({ a: 1, b: 1, c: 1 }), 1_000);
  expect(seenRoll(before, map({ a: 1, b: 2, d: 1 }), 3_000)).toEqual(
    new Map([
      ["a", { count: 1, sinceMs: 1_000 }],
      ["b", { count: 2, sinceMs: 3_000 }],
      ["d", { count: 1, sinceMs: 3_000 }],
    ]),
  );
});

test.each([
  ["just before its time", 5_999, ["a", "b"]],
  ["at its time", 6_000, ["b"]],
])("who does not count on is alive until its time is over: %s", (_when, nowMs, expected) => {
  const seen = seenRoll(seenRoll(new Map(), map({ b: 1, a: 1 }), 1_000), map({ b: 2, a: 1 }), 2_000);
  expect(aliveIn(seen, 5_000, nowMs)).toEqual(expected);
});

const SEEN = seenRoll(
  seenRoll(new Map(), map({ me: 4, other: 1, silent: 1 }), 0),
  map({ me: 4, other: 2, silent: 1 }),
  1_000,
);
test.each([
  ["who renews puts its own count, and leaves the others", 5, 14_999, { me: 5, other: 2, silent: 1 }],
  ["who renews strikes out who has not counted on for a lease's time", 5, 15_000, { me: 5, other: 2 }],
  ["who leaves strikes itself out", undefined, 14_999, { other: 2, silent: 1 }],
  ["who leaves strikes out who has not counted on for a lease's time", undefined, 15_000, { other: 2 }],
  ["who leaves after all others have stopped leaves nobody", undefined, 16_000, {}],
  ["who has not counted on itself renews all the same", 5, 60_000, { me: 5 }],
])("%s", (_title, count, nowMs, expected) => {
  const roll = map({ me: 4, other: 2, silent: 1 });
  expect(nextRoll(roll, SEEN, { name: "me", count, durationMs: 15_000, nowMs })).toEqual(map(expected));
});

test("who stands on the roll and was not seen yet is struck out by nobody: it has come between two looks", () => {
  const roll = map({ me: 4, other: 2, new: 1 });
  const next = nextRoll(roll, SEEN, { name: "me", count: undefined, durationMs: 15_000, nowMs: 16_000 });
  expect(next).toEqual(map({ new: 1 }));
});
