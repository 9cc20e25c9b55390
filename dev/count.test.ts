import { expect, test } from "vitest";
import { countOf } from "./count.ts";

const file = {
  name: "/repo/a.test.ts",
  startTime: 1000,
  endTime: 3500,
  status: "passed",
  message: "",
  assertionResults: [],
};
const ended = (status: string) => ({ fullName: `it ${status}`, status });

test("count: vitest's report is counted by file, with its duration", () => {
  const assertionResults = ["passed", "passed", "skipped", "pending", "todo"].map(ended);
  const counted = { passed: 2, failed: 0, skipped: 3, failures: [] };
  const nothing = { passed: 0, failed: 0, skipped: 0, failures: [] };
  expect(countOf({ testResults: [{ ...file, assertionResults }, file] }, 0)).toEqual({
    ...counted,
    unsteady: [],
    files: [
      { name: "/repo/a.test.ts", ms: 2500, isAround: false, ...counted },
      { name: "/repo/a.test.ts", ms: 2500, isAround: false, ...nothing },
    ],
  });
});

test("count: a run that failed without a failed test counts as one failure", () => {
  const { failed, failures } = countOf({ testResults: [] }, 1);
  expect({ failed, failures }).toEqual({
    failed: 1,
    failures: ["vitest ended with exit code 1, though no test failed"],
  });
});

test("count: a killed run adds a failure after the failures of its tests", () => {
  const flaky = { ...file, status: "failed", assertionResults: [ended("failed")] };
  expect(countOf({ testResults: [flaky] }, 137).failures.at(-1)).toBe("vitest ended with exit code 137");
});

test.each([
  ["outside of all tests of a file", "no such module\nat line 1", ["skipped"], 1, "/repo/a.test.ts: no such module"],
  ["in a hook of some tests of a file", "", ["skipped", "passed"], 1, "/repo/a.test.ts: a hook failed"],
  ["outside of tests that failed, too", "no such module", ["failed", "failed"], 2, "/repo/a.test.ts: no such module"],
])(
  "count: an error %s counts as one failed test, unless a test of the file failed",
  (_where, message, ends, failed, why) => {
    const around = { ...file, status: "failed", message, assertionResults: ends.map(ended) };
    const flaky = { ...file, status: "failed", assertionResults: [ended("failed")] };
    const count = countOf({ testResults: [flaky, around] }, 1);
    expect(count.failed).toBe(failed + 1);
    expect(count.failures).toContain(why);
    expect(count.files.map(({ isAround }) => isAround)).toEqual([false, true]);
  },
);

test("count: an uncaught error adds a failure", () => {
  const flaky = { ...file, status: "failed", assertionResults: [ended("failed")] };
  const { failed, failures } = countOf({ testResults: [flaky] }, 1, ["it was rejected"]);
  expect({ failed, failures: failures.slice(1) }).toEqual({
    failed: 2,
    failures: ["an uncaught error – it was rejected"],
  });
});

test("count: a failure names its error and the test's line, or else the first line of the repository's code", () => {
  const what = "Error: so it was";
  const theirs = "    at expect (/repo/node_modules/vitest/dist/chunk.ts:1:2)";
  const [kit, own] = ["    at expectNone (/repo/test/kit/loaded.ts:50:28)", "    at /repo/a.test.ts:7:3"];
  const failed = (...lines: string[]) => ({ fullName: "a", status: "failed", failureMessages: [lines.join("\n")] });
  const assertionResults = [failed(what, theirs, kit, own), failed(what, kit), failed(what, theirs)];
  const { failures } = countOf({ testResults: [{ ...file, status: "failed", assertionResults }] }, 1);
  expect(failures).toEqual([
    "/repo/a.test.ts: a – Error: so it was (a.test.ts:7)",
    "/repo/a.test.ts: a – Error: so it was (loaded.ts:50)",
    "/repo/a.test.ts: a – Error: so it was",
  ]);
});

test("count: the failure of a property test contains the seed that reproduces it", () => {
  const message =
    'Error: Property failed after 33 tests\n{ seed: 7, path: "32:1", endOnFailure: true }\nCounterexample: [0]';
  const assertionResults = [{ fullName: "a", status: "failed", failureMessages: [message] }];
  expect(countOf({ testResults: [{ ...file, status: "failed", assertionResults }] }, 1).failures).toEqual([
    '/repo/a.test.ts: a – Error: Property failed after 33 tests { seed: 7, path: "32:1", endOnFailure: true }',
  ]);
});

test("count: a failure names its file, test and error, also outside of tests", () => {
  const assertionResults = [
    { fullName: "a thing passed", status: "passed", failureMessages: [] },
    { fullName: "a thing failed", status: "failed" },
    {
      fullName: "b failed",
      status: "failed",
      failureMessages: ["\u001b[31mError: so it was\u001b[39m\n    at x", "other"],
    },
    { fullName: "no error failed", status: "failed", failureMessages: [null] },
    { fullName: "c failed", status: "failed", failureMessages: [`Error: ${"long ".repeat(100)}the cause`] },
  ];
  const testResults = [
    { ...file, name: "a.test.ts", status: "failed", assertionResults },
    { ...file, name: "b.test.ts", status: "failed", message: "no such module\nat line 1" },
  ];
  expect(countOf({ testResults }, 1).failures).toEqual([
    "a.test.ts: a thing failed",
    "a.test.ts: b failed – Error: so it was",
    "a.test.ts: no error failed",
    `a.test.ts: c failed – ${`Error: ${"long ".repeat(100)}`.slice(0, 150)} … ${"long ".repeat(49).slice(-241)}the cause`,
    "b.test.ts: no such module",
  ]);
});
