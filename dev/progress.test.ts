import { expect, test } from "vitest";
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
