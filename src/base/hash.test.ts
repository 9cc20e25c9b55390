import fc from "fast-check";
import { expect, test } from "vitest";
import { fingerprint, isSameData } from "#base/hash.ts";
import { nested } from "#kit/tables/nested.ts";

test("hash: the order of keys is ignored, and so are keys without a value", () => {
  const [a, b] = [
    { x: 1, y: { z: [1, { q: "r" }], u: undefined } },
    { y: { z: [1, { q: "r" }] }, x: 1 },
  ];
  expect(fingerprint(a)).toBe(fingerprint(b));
  expect(isSameData(a, b)).toBe(true);
});

test("hash: the order of a list, types and all values are significant", () => {
  const different = [[1, 2], [2, 1], { 0: 1, 1: 2 }, ["1", 2], { a: null }, {}, null, [], "", 0, false];
  const prints = different.map((value) => fingerprint(value));
  expect(new Set(prints).size).toBe(different.length);
  for (const a of different) for (const b of different) expect(isSameData(a, b)).toBe(a === b);
});

test("hash: isSameData() is true exactly when the fingerprints are equal", () => {
  const value = fc.jsonValue({ maxDepth: 3, noUnicodeString: true }).map((json) => JSON.parse(JSON.stringify(json)));
  fc.assert(fc.property(value, value, (a, b) => isSameData(a, b) === (fingerprint(a) === fingerprint(b))));
  fc.assert(fc.property(value, (a) => isSameData(a, structuredClone(a))));
});

test("hash: an inherited field does not count as the object's own", () => {
  expect(isSameData(JSON.parse('{"__proto__":{}}'), { other: {} })).toBe(false);
  expect(isSameData({ toString: 1 }, {})).toBe(false);
  expect(isSameData({ a: undefined, b: 1 }, { b: 1, c: undefined })).toBe(true);
  expect(isSameData({ a: 1 }, { b: 1 })).toBe(false);
});

test("hash: a list with an additional undefined is different", () => {
  const [one, two] = [[1], [1, undefined]];
  expect([fingerprint(one) === fingerprint(two), isSameData(one, two), isSameData(two, one)]).toEqual([
    false,
    false,
    false,
  ]);
});

test("data nested more than 500 levels deep counts as different, and is not traversed", () => {
  const isSame = (levels: number) => isSameData(nested(levels), nested(levels));
  expect([isSame(500), isSame(501), isSame(9_900)]).toEqual([true, false, false]);
  const deep = nested(9_900);
  expect(isSameData({ deep }, { deep })).toBe(true);
});
