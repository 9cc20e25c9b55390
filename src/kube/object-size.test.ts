import { expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import type { KubeObject } from "./kinds.ts";
import { faultOf, keptInPlace, OBJECT_LIMIT, ofUsualSize, sizeOf, whole, whyTooLarge } from "./object-size.ts";

const object = (more: object): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { namespace: "a", name: "b", uid: "u", resourceVersion: "1" },
  ...more,
});

test("an object's size is about the length of its JSON, and the number of its values", () => {
  for (const value of [{}, [], "text", 1, null, { a: [1, { b: "c" }], d: [[], {}] }]) {
    const { characters } = sizeOf(value);
    expect(Math.abs(characters - JSON.stringify(value).length)).toBeLessThanOrEqual(20);
  }
  expect(sizeOf({ a: [1, "x"], b: {} }).values).toBe(5);
  expect(sizeOf({ abc: "x".repeat(10) }).characters).toBe(2 + 6 + 13);
  expect(sizeOf(["x"]).characters).toBe(2 + 4);
});

test("the size of deeply nested data is measured without overflow", () => {
  let deep: unknown = "x";
  for (let level = 0; level < 200_000; level++) deep = [deep];
  expect(sizeOf(deep).values).toBe(200_001);
});

test("the number of characters and of values of an object is limited", () => {
  const rest = sizeOf(object({ spec: "" }));
  const ofLength = (characters: number) => object({ spec: "x".repeat(characters - rest.characters) });
  const ofValues = (values: number) => object({ spec: Array.from({ length: values - rest.values }, () => []) });
  expect(whyTooLarge(ofLength(OBJECT_LIMIT.characters))).toBeUndefined();
  expect(whyTooLarge(ofLength(OBJECT_LIMIT.characters + 1))).toBe(
    "Thing a/b is too large: it has 524289 characters, most of them in spec; at most 524288 are read. The operator leaves it and what belongs to it as it is. Make it smaller.",
  );
  expect(whyTooLarge(ofValues(OBJECT_LIMIT.values))).toBeUndefined();
  expect(whyTooLarge(ofValues(OBJECT_LIMIT.values + 1))).toBe(
    "Thing a/b is too large: it has 20001 values, most of them in spec; at most 20000 are read. The operator leaves it and what belongs to it as it is. Make it smaller.",
  );
});

test("a field of an object may have its own limit, and the message names the largest part of that field", () => {
  const limit = { field: "spec", characters: 100, values: 10 };
  expect(whyTooLarge(object({ spec: { a: 1 }, status: "x".repeat(500) }), [limit])).toBeUndefined();
  const spec = { small: "x".repeat(40), large: { inner: "x".repeat(41), other: 1 } };
  expect(whyTooLarge(object({ spec }), [limit])).toContain("its spec has 128 characters, most of them in large.inner;");
  expect(whyTooLarge(object({ spec: "x".repeat(500) }), [limit])).toContain("most of them in one text;");
  expect(whyTooLarge(object({ spec: [["x".repeat(500)]] }), [limit])).toContain("most of them in one text;");
  expect(whyTooLarge(object({ spec: { ["k".repeat(500)]: 1 } }), [limit])).toContain(`in ${"k".repeat(40)};`);
});

test("an object that is too large has a placeholder that cannot be used as the object", () => {
  const [rest, other] = [object({}), object({})];
  expect(keptInPlace(rest, "it is too large")).toBe(rest);
  expect(faultOf(rest)).toBe("it is too large");
  expect(() => whole(rest)).toThrow(expect.objectContaining({ code: "ObjectTooLarge", message: "it is too large" }));
  expect(faultOf(other)).toBeUndefined();
  expect(whole(other)).toBe(other);
});

test("an object that is too large is observed as unknown", () => {
  const large = object({ data: "x".repeat(600_000) });
  expect(ofUsualSize(present(object({})))).toEqual(present(object({})));
  expect(ofUsualSize(present(large))).toEqual(unknown(whyTooLarge(large) ?? ""));
  expect(ofUsualSize(absent)).toBe(absent);
  expect(ofUsualSize(unknown("no answer"))).toEqual(unknown("no answer"));
});
