import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** `.ci/run` with commands of ours in npm's place. @param whole shell, for `npm test` @param slice for the slice of the long tests */
async function landing(whole: string, slice: string, longestSeconds: number) {
  const folder = mkdtempSync(join(tmpdir(), "landing-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const npm = join(folder, "npm");
  writeFileSync(npm, `#!/bin/bash\nif [[ $* == test ]]; then ${whole}; else ${slice}; fi\n`);
  chmodSync(npm, 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, LONGEST_SECONDS: String(longestSeconds) };
  const child = spawn(join(ROOT, ".ci", "run"), { env, stdio: ["ignore", "pipe", "pipe"] });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [code, words, complaints] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  const lines = words.trim().split("\n");
  return { code, last: lines.at(-1), lines, complaints };
}

/** So long that nobody is cut off. */
const LONG = 600;
/** One second for `npm test`: beside it the least of a slice, and time to tidy up, stay free. */
const SHORT = 121;

test.each([
  [
    "all is well",
    "echo 5 passed, 0 failed, 1 skipped",
    "echo 2 passed, 0 failed, 3 skipped",
    "7 passed, 0 failed, 4 skipped",
    0,
  ],
  [
    "a test of both fails",
    "echo 5 passed, 1 failed, 0 skipped; exit 1",
    "echo 2 passed, 1 failed, 0 skipped; exit 1",
    "7 passed, 2 failed, 0 skipped",
    1,
  ],
  ["one says nothing", "exit 3", "echo 2 passed, 0 failed, 0 skipped", "2 passed, 1 failed, 0 skipped", 1],
  [
    "one fails and counts none",
    "echo 5 passed, 0 failed, 0 skipped; exit 1",
    "echo 2 passed, 0 failed, 0 skipped",
    "7 passed, 1 failed, 0 skipped",
    1,
  ],
])("landing: %s: both are counted, with what is skipped", async (_when, whole, slice, last, code) => {
  expect(await landing(whole, slice, LONG)).toMatchObject({ code, last, complaints: "" });
});

test("landing: what failed is said again at the end, since a landing shows no more than that", async () => {
  const whole =
    "printf 'much\\n\\n  Failed\\n  a.test.ts > one\\n  b.test.ts > two\\n\\n  Failed beside others, passed alone\\n  c.test.ts > three\\n\\n5 passed, 2 failed, 0 skipped\\n'; exit 1";
  const { lines } = await landing(whole, "echo 2 passed, 0 failed, 0 skipped", LONG);
  expect(lines.slice(-9)).toEqual([
    "",
    "  Failed",
    "  a.test.ts > one",
    "  b.test.ts > two",
    "",
    "  Failed beside others, passed alone",
    "  c.test.ts > three",
    "",
    "7 passed, 2 failed, 0 skipped",
  ]);
});

test("landing: tests that hang are cut off, and the slice is told all the same", async () => {
  const told = await landing("sleep 300", "echo 2 passed, 0 failed, 0 skipped", SHORT);
  expect(told).toMatchObject({ code: 1, last: "2 passed, 1 failed, 0 skipped" });
  expect(told.complaints).toContain('"npm test" did not end within 1 s');
});
