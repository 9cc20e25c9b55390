import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readChapters, sliceOf } from "./slice.ts";

const ROOT = join(import.meta.dirname, "..");
const chapters = readChapters(ROOT);

test("slice: every long test belongs to exactly one chapter", () => {
  const files = readdirSync(join(ROOT, "test", "long"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".test.ts"),
  );
  expect(Object.keys(chapters).sort()).toEqual(files.sort());
});

test("slice: the commit chooses where it begins; it goes on in a circle as long as chapters fit", () => {
  const four = { a: 5, b: 7, c: 4, d: 1 };
  const hash = (number: number) => number.toString(16).padStart(8, "0").padEnd(40, "f");
  expect([0, 1, 2, 3, 4].map((number) => sliceOf(four, hash(number), 12))).toEqual([
    ["a", "b"],
    ["b", "c", "d"],
    ["c", "d", "a"],
    ["d", "a"],
    ["a", "b"],
  ]);
  expect(sliceOf(four, hash(0), 100)).toEqual(["a", "b", "c", "d"]);
});

test("slice: a chapter that is longer than a slice is told alone", () => {
  expect(sliceOf({ a: 20, b: 1 }, "0".repeat(40), 15)).toEqual(["a"]);
});

test("slice: every chapter comes first for some commit, and none is longer than a slice", () => {
  const names = Object.keys(chapters);
  expect(names.map((_, number) => sliceOf(chapters, number.toString(16).padStart(8, "0"))[0])).toEqual(names);
  for (const minutes of Object.values(chapters)) expect(minutes).toBeLessThanOrEqual(15);
});
