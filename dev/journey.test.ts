import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Durations, durationsInCache, Journey } from "./journey.ts";

const plan = [
  { title: "built", typicalSeconds: 300 },
  { title: "runs", typicalSeconds: 100 },
];

function measured(known: Record<string, number> = {}): Durations & { known: Record<string, number> } {
  const note = (title: string, ms: number) => {
    known[title] = ms;
  };
  return { known, of: (title) => known[title], note };
}

test("journey: each step has its place; a part of a step has none", () => {
  const journey = new Journey(plan, measured());
  expect(["built", "runs", "node-1 ready"].map((title) => journey.place(title))).toEqual([
    "step 1 of 2",
    "step 2 of 2",
    undefined,
  ]);
});

test("journey: what is left shrinks while a step runs, and never below nothing", () => {
  const journey = new Journey(plan, measured());
  expect(journey.summary()).toBe("2 steps, about 7 minutes");
  journey.begin("built", 0);
  expect(journey.left(120_000)).toBe("about 5 minutes left");
  expect(journey.left(900_000)).toBe("about 2 minutes left"); // the first takes longer than expected: the second is still to come
  journey.end("built", 900_000);
  journey.begin("runs", 900_000);
  expect(journey.left(960_000)).toBe("less than a minute left");
  journey.end("runs", 1_000_000);
  expect(journey.left(1_000_000)).toBeUndefined();
});

test("journey: what the machine took before counts more than what is typical, and is noted anew", () => {
  const durations = measured({ built: 20_000 });
  const journey = new Journey(plan, durations);
  expect(journey.summary()).toBe("2 steps, about 2 minutes");
  journey.begin("built", 0);
  journey.end("built", 30_000);
  journey.begin("node-1 ready", 0);
  journey.end("node-1 ready", 5);
  expect(durations.known).toEqual({ built: 30_000 });
});

const cache = mkdtempSync(join(tmpdir(), "journey-"));
beforeEach(() => void vi.stubEnv("XDG_CACHE_HOME", cache));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(join(cache, "etcd-cluster-operator"), { recursive: true, force: true });
});

test("durations: another process finds what was noted; a file that is none counts as empty", () => {
  durationsInCache().note("built", 1234.5);
  expect(durationsInCache().of("built")).toBe(1235);
  writeFileSync(join(cache, "etcd-cluster-operator", "durations.json"), "not JSON");
  expect(durationsInCache().of("built")).toBeUndefined();
});
