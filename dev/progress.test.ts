import { stripVTControlCharacters } from "node:util";
import { expect, test, vi } from "vitest";
import { Journey } from "./journey.ts";
import { seconds, stepsOn } from "./progress.ts";

test("progress: without a terminal a step is one line", async () => {
  const lines: string[] = [];
  const step = stepsOn({ write: (text) => lines.push(text) });
  expect(await step("thing ready", () => Promise.resolve(7))).toBe(7);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/✓.* thing ready .*\(0\.0 s\)/);
});

test("progress: a step that fails says so and passes the failure on", async () => {
  const lines: string[] = [];
  const step = stepsOn({ write: (text) => lines.push(text) });
  await expect(step("thing ready", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(lines.join("")).toContain("✗");
});

test("progress: times are as people read them", () => {
  expect([3100, 65_400, 600_000].map(seconds)).toEqual(["3.1 s", "1 min 05 s", "10 min 00 s"]);
});

const NOTHING_MEASURED = { of: () => undefined, note: () => {} };

test("progress: on a journey a step says its place and what is left of the whole, a part of it is set in", async () => {
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

test("progress: a log hears after ten seconds what a step waits for, and every half minute after that", async () => {
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
