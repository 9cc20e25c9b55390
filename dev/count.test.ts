import { expect, test } from "vitest";
import { countOf } from "./count.ts";

const file = { name: "/repo/a.test.ts", startTime: 1000, endTime: 3500, message: "", assertionResults: [] };
const ended = (status: string) => ({ fullName: `it ${status}`, status });

test("count: vitest's report, with what became of each file and what it took", () => {
  const assertionResults = ["passed", "passed", "skipped", "pending", "todo"].map(ended);
  const counted = { passed: 2, failed: 0, skipped: 3, failures: [] };
  expect(countOf({ testResults: [{ ...file, assertionResults }, file] }, 0)).toEqual({
    ...counted,
    unsteady: [],
    files: [
      { name: "/repo/a.test.ts", ms: 2500, ...counted },
      { name: "/repo/a.test.ts", ms: 2500, passed: 0, failed: 0, skipped: 0, failures: [] },
    ],
  });
});

test("count: a run that failed without a failed test counts as one failure", () => {
  const { failed, failures } = countOf({ testResults: [] }, 1);
  expect({ failed, failures }).toEqual({ failed: 1, failures: ["vitest ended with 1, though no test failed"] });
});

test("count: what goes wrong around a file's tests counts as one that failed, unless one of them did", () => {
  const around = { ...file, message: "no such module\nat line 1" };
  expect(countOf({ testResults: [around] }, 1)).toMatchObject({ failed: 1 });
  const assertionResults = ["failed", "failed", "skipped"].map(ended);
  expect(countOf({ testResults: [{ ...around, assertionResults }] }, 1)).toMatchObject({ failed: 2, skipped: 1 });
});

test("count: what failed has its file, its name and why, also around tests", () => {
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
    { ...file, name: "a.test.ts", assertionResults },
    { ...file, name: "b.test.ts", message: "no such module\nat line 1" },
  ];
  expect(countOf({ testResults }, 1).failures).toEqual([
    "a.test.ts: a thing failed",
    "a.test.ts: b failed – Error: so it was",
    "a.test.ts: no error failed",
    `a.test.ts: c failed – ${`Error: ${"long ".repeat(100)}`.slice(0, 300)}`,
    "b.test.ts: no such module",
  ]);
});
