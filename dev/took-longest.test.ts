import { expect, test } from "vitest";
import { countOf } from "./count.ts";
import { tookLongest } from "./took-longest.ts";

test("took longest: levels and the five slowest files, the slowest first", () => {
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

test("took longest: without a test file there are only the levels", () => {
  expect(tookLongest("/repo", [{ name: "checks", ms: 1 }], [])).toHaveLength(2);
});

const report = { numPassedTests: 3, numFailedTests: 0, numPendingTests: 1, numTodoTests: 1 };

test("count: vitest's report, with what each file took", () => {
  const testResults = [{ name: "/repo/a.test.ts", startTime: 1000, endTime: 3500, message: "", assertionResults: [] }];
  expect(countOf({ ...report, testResults }, 0)).toEqual({
    passed: 3,
    failed: 0,
    skipped: 2,
    failures: [],
    files: [{ name: "/repo/a.test.ts", ms: 2500 }],
  });
});

test("count: a run that failed without a failed test counts as one failure", () => {
  expect(countOf({ ...report, testResults: [] }, 1).failed).toBe(1);
});

test("count: what failed has its file, its name and why, also around tests", () => {
  const around = { startTime: 0, endTime: 1 };
  const assertionResults = [
    { fullName: "a thing passed", status: "passed", failureMessages: [] },
    { fullName: "a thing failed", status: "failed" },
    {
      fullName: "b failed",
      status: "failed",
      failureMessages: ["\u001b[31mError: so it was\u001b[39m\n    at x", "other"],
    },
    { fullName: "no error failed", status: "failed", failureMessages: [null] },
    { fullName: "c failed", status: "failed", failureMessages: [`Error: ${"long ".repeat(100)}`] },
  ];
  const testResults = [
    { name: "a.test.ts", ...around, message: "", assertionResults },
    { name: "b.test.ts", ...around, message: "no such module\nat line 1", assertionResults: [] },
  ];
  expect(countOf({ ...report, testResults }, 1).failures).toEqual([
    "a.test.ts: a thing failed",
    "a.test.ts: b failed – Error: so it was",
    "a.test.ts: no error failed",
    `a.test.ts: c failed – ${`Error: ${"long ".repeat(100)}`.slice(0, 300)}`,
    "b.test.ts: no such module",
  ]);
});
