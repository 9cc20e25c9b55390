import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/**
 * Runs `.ci/run` with a fake npm.
 * @param whole shell code for `npm test`
 * @param slice shell code for the slice of the long tests
 * @param rest shell code for `npm run test:rest`
 */
async function landing(
  whole: string,
  slice: string,
  longestSeconds: number,
  rest = "echo 1 passed, 0 failed, 0 skipped",
) {
  const folder = mkdtempSync(join(tmpdir(), "landing-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const npm = join(folder, "npm");
  writeFileSync(
    npm,
    `#!/bin/bash\nif [[ $* == test ]]; then ${whole}; elif [[ $* == *test:rest ]]; then ${rest}; else ${slice}; fi\n`,
  );
  chmodSync(npm, 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, LONGEST_SECONDS: String(longestSeconds) };
  const child = spawn(join(ROOT, ".ci", "run"), { env, stdio: ["ignore", "pipe", "pipe"] });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [code, words, complaints] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  const lines = words.trim().split("\n");
  return { code, last: lines.at(-1), lines, complaints };
}

/** Limit in seconds that no run reaches. */
const LONG = 600;
/** Limit in seconds: one second for `npm test`, the least time of the other two runs, and the time to clean up after two. */
const SHORT = 241;

test.each([
  [
    "all tests pass",
    "echo 5 passed, 0 failed, 1 skipped",
    "echo 2 passed, 0 failed, 3 skipped",
    "8 passed, 0 failed, 4 skipped",
    0,
  ],
  [
    "a test of each run fails",
    "echo 5 passed, 1 failed, 0 skipped; exit 1",
    "echo 2 passed, 1 failed, 0 skipped; exit 1",
    "8 passed, 2 failed, 0 skipped",
    1,
  ],
  ["a run prints no counts", "exit 3", "echo 2 passed, 0 failed, 0 skipped", "3 passed, 1 failed, 0 skipped", 1],
  [
    "a run fails and counts no failure",
    "echo 5 passed, 0 failed, 0 skipped; exit 1",
    "echo 2 passed, 0 failed, 0 skipped",
    "8 passed, 1 failed, 0 skipped",
    1,
  ],
])("landing: when %s, the last line has the counts of all runs", async (_when, whole, slice, last, code) => {
  expect(await landing(whole, slice, LONG)).toMatchObject({ code, last, complaints: "" });
});

test("landing: failures are printed again at the end", async () => {
  const whole =
    "printf 'much\\n\\n  Failed\\n  a.test.ts > one\\n  b.test.ts > two\\n\\n  Failed in parallel, passed alone\\n  c.test.ts > three\\n\\n5 passed, 2 failed, 0 skipped\\n'; exit 1";
  const { lines } = await landing(whole, "echo 2 passed, 0 failed, 0 skipped", LONG);
  expect(lines.slice(-9)).toEqual([
    "",
    "  Failed",
    "  a.test.ts > one",
    "  b.test.ts > two",
    "",
    "  Failed in parallel, passed alone",
    "  c.test.ts > three",
    "",
    "8 passed, 2 failed, 0 skipped",
  ]);
});

test("landing: a run of tests that hangs is stopped, and the other runs still follow", async () => {
  const stopped = await landing("sleep 300", "echo 2 passed, 0 failed, 0 skipped", SHORT);
  expect(stopped).toMatchObject({ code: 1, last: "3 passed, 1 failed, 0 skipped" });
  expect(stopped.complaints).toContain('"npm test" did not end within 1 s');
});

test("landing: a failure in `npm run test:rest` fails the landing and is counted", async () => {
  const rest = "printf '  Failed\\n  a.test.ts > one\\n\\n4 passed, 1 failed, 0 skipped\\n'; exit 1";
  const { code, lines } = await landing(
    "echo 5 passed, 0 failed, 0 skipped",
    "echo 2 passed, 0 failed, 0 skipped",
    LONG,
    rest,
  );
  expect(code).toBe(1);
  expect(lines.slice(-4)).toEqual(["  Failed", "  a.test.ts > one", "", "11 passed, 1 failed, 0 skipped"]);
});
