import { expect, test } from "vitest";
import { Places } from "#runtime/places.ts";

function taken(most: number, by: Readonly<Record<string, number>>): Places {
  const places = new Places();
  places.most = most;
  for (const [namespace, count] of Object.entries(by)) for (let n = 0; n < count; n++) places.take(namespace);
  return places;
}

test.each<[string, number, Record<string, number>, Record<string, boolean>]>([
  ["a namespace may have the only slot", 1, {}, { a: true }],
  ["no namespace may have a second slot when there is one", 1, { a: 1 }, { a: false, b: false }],
  ["a namespace alone may have two thirds", 300, { a: 199 }, { a: true, b: true }],
  ["a namespace alone may have no more than two thirds", 300, { a: 200 }, { a: false, b: true }],
  [
    "two namespaces have a third each, and leave a third for others",
    300,
    { a: 101, b: 100 },
    { a: false, b: false, c: true },
  ],
  [
    "a second namespace may have a fifth of what a namespace with two thirds leaves",
    300,
    { a: 200, b: 19 },
    { a: false, b: true, c: true },
  ],
  ["a second namespace may have no more than that fifth", 300, { a: 200, b: 20 }, { a: false, b: false, c: true }],
  ["any namespace may have the last slot while each has one", 3, { a: 1, b: 1 }, { a: true, b: true, c: true }],
  ["no namespace may have a slot when none is free", 3, { a: 1, b: 1, c: 1 }, { a: false, d: false }],
  ["any number may be taken without a limit", Number.POSITIVE_INFINITY, { a: 999 }, { a: true }],
])("slots of namespaces: %s", (_, most, by, open) => {
  const places = taken(most, by);
  expect(Object.fromEntries(Object.keys(open).map((name) => [name, places.isOpenTo(name)]))).toEqual(open);
});

test("slots of namespaces: a slot that is given up may be taken by another namespace", () => {
  const places = taken(3, { a: 2 });
  expect([places.left, places.takenBy("a"), places.takenBy("b"), places.isOpenTo("a")]).toEqual([1, 2, 0, false]);
  places.leave("a");
  expect([places.left, places.takenBy("a"), places.isOpenTo("a")]).toEqual([2, 1, true]);
  places.leave("a");
  expect([places.left, places.takenBy("a")]).toEqual([3, 0]);
});

test("slots of namespaces: a namespace has most when it has more than all others together", () => {
  const places = taken(9, { a: 2, b: 1, c: 1 });
  expect(["a", "b", "none"].map((name) => places.isMostOf(name))).toEqual([false, false, false]);
  places.take("a");
  expect(["a", "b", "none"].map((name) => places.isMostOf(name))).toEqual([true, false, false]);
});
