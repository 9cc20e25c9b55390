import { expect, test } from "vitest";
import { tookLongest } from "./took-longest.ts";

test("longest tests: all levels and the five slowest files are listed, slowest first", () => {
  const levels = [
    { name: "unit", ms: 61_000 },
    { name: "e2e", ms: 600_000 },
  ];
  const files = [1, 6, 2, 5, 3, 4].map((each) => ({ name: `/repo/test/${each}.test.ts`, ms: each * 1000 }));
  const words = tookLongest("/repo", levels, files).map((line) => line.trim().replace(/ {2,}/g, " | "));
  expect(words).toEqual([
    "Level | took",
    "e2e | 10 min 00 s",
    "unit | 1 min 01 s",
    "",
    "Slowest test files | took",
    ...[6, 5, 4, 3, 2].map((each) => `test/${each}.test.ts | ${each}.0 s`),
  ]);
});

test("longest tests: without test files only the levels are listed", () => {
  expect(tookLongest("/repo", [{ name: "checks", ms: 1 }], [])).toHaveLength(2);
});
