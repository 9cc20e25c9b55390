import { stripVTControlCharacters } from "node:util";
import { expect, test, vi } from "vitest";
import { Journey } from "./journey.ts";
import { seconds, stepsOn } from "./progress.ts";

test("progress: without a terminal a step is printed as one line", async () => {
  const lines: string[] = [];
  const step = stepsOn({ write: (text) => lines.push(text) });
  expect(await step("thing ready", () => Promise.resolve(7))).toBe(7);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/✓.* thing ready .*\(0\.0 s\)/);
});

test("progress: a failed step prints a mark and rethrows the error", async () => {
  const lines: string[] = [];
  const step = stepsOn({ write: (text) => lines.push(text) });
  await expect(step("thing ready", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(lines.join("")).toContain("✗");
});

test("progress: times are printed in seconds or minutes", () => {
  expect([3100, 65_400, 600_000].map(seconds)).toEqual(["3.1 s", "1 min 05 s", "10 min 00 s"]);
});

const NOTHING_MEASURED = { of: () => undefined, note: () => {} };

test("progress: a planned step prints its number and the remaining time, and its parts are indented", async () => {
  const lines: string[] = [];
  const plan = ["built", "runs"].map((title) => ({ title, typicalSeconds: 180 }));
  const step = stepsOn({ write: (text) => lines.push(text) }, new Journey(plan, NOTHING_MEASURED));
  await step("built", () => step("half of it", () => Promise.resolve()));
  await step("runs", () => Promise.resolve());
  expect(lines.map(stripVTControlCharacters)).toEqual([
    "    ✓ half of it (0.0 s)\n",
    "✓ step 1 of 2: built (0.0 s; about 3 minutes left)\n",
    "✓ step 2 of 2: runs (0.0 s)\n",
  ]);
});

test("progress: without a terminal a step prints its note after ten seconds, and then every half minute", async () => {
  vi.useFakeTimers();
  try {
    const lines: string[] = [];
    const plan = [{ title: "runs", typicalSeconds: 180 }];
    const step = stepsOn({ write: (text) => lines.push(text) }, new Journey(plan, NOTHING_MEASURED));
    const runs = step("runs", async (note) => {
      note("waiting for rain");
      await new Promise((resolve) => setTimeout(resolve, 45_000));
    });
    await vi.advanceTimersByTimeAsync(45_000);
    await runs;
    expect(lines.slice(0, -1)).toEqual([
      "… step 1 of 1: runs: waiting for rain (10.0 s; about 3 minutes left)\n",
      "… step 1 of 1: runs: waiting for rain (40.0 s; about 2 minutes left)\n",
    ]);
  } finally {
    vi.useRealTimers();
  }
});
