import { expect, test } from "vitest";
import { Places } from "#runtime/places.ts";

function taken(most: number, by: Readonly<Record<string, number>>): Places {
  const places = new Places();
  places.most = most;
  for (const [namespace, count] of Object.entries(by)) for (let n = 0; n < count; n++) places.take(namespace);
  return places;
}

test.each<[string, number, Record<string, number>, Record<string, boolean>]>([
  ["whoever asks first may have one, also of one", 1, {}, { a: true }],
  ["and then nobody", 1, { a: 1 }, { a: false, b: false }],
  ["one alone has two thirds of them", 300, { a: 199 }, { a: true, b: true }],
  ["and no more", 300, { a: 200 }, { a: false, b: true }],
  ["two have a third each, and leave one", 300, { a: 101, b: 100 }, { a: false, b: false, c: true }],
  ["who comes then has a quarter of what is left", 300, { a: 200, b: 19 }, { a: false, b: true, c: true }],
  ["and no more, of what is left next", 300, { a: 200, b: 20 }, { a: false, b: false, c: true }],
  ["where each has one, all of them are taken", 3, { a: 1, b: 1 }, { a: true, b: true, c: true }],
  ["where none is left, nobody has more", 3, { a: 1, b: 1, c: 1 }, { a: false, d: false }],
  ["where any number may be taken, anybody may have any", Number.POSITIVE_INFINITY, { a: 999 }, { a: true }],
])("places: %s", (_, most, by, open) => {
  const places = taken(most, by);
  expect(Object.fromEntries(Object.keys(open).map((name) => [name, places.isOpenTo(name)]))).toEqual(open);
});

test("places: who leaves one has one less, and somebody else may have it", () => {
  const places = taken(3, { a: 2 });
  expect([places.left, places.takenBy("a"), places.takenBy("b"), places.isOpenTo("a")]).toEqual([1, 2, 0, false]);
  places.leave("a");
  expect([places.left, places.takenBy("a"), places.isOpenTo("a")]).toEqual([2, 1, true]);
  places.leave("a");
  expect([places.left, places.takenBy("a")]).toEqual([3, 0]);
});

test("places: one has most when it has more than all others together", () => {
  const places = taken(9, { a: 2, b: 1, c: 1 });
  expect(["a", "b", "none"].map((name) => places.isMostOf(name))).toEqual([false, false, false]);
  places.take("a");
  expect(["a", "b", "none"].map((name) => places.isMostOf(name))).toEqual([true, false, false]);
});
