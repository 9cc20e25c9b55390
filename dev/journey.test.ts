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

test("progress estimate: each planned step has a number, and a part of a step has none", () => {
  const journey = new Journey(plan, measured());
  expect(["built", "runs", "node-1 ready"].map((title) => journey.place(title))).toEqual([
    "step 1 of 2",
    "step 2 of 2",
    undefined,
  ]);
});

test("progress estimate: the remaining time shrinks while a step runs and is never negative", () => {
  const journey = new Journey(plan, measured());
  expect(journey.summary()).toBe("2 steps, about 7 minutes");
  journey.begin("built", 0);
  expect(journey.left(120_000)).toBe("about 5 minutes left");
  journey.end("built", 300_000);
  journey.begin("runs", 300_000);
  expect(journey.left(330_000)).toBe("about a minute left");
  expect(journey.left(360_000)).toBeUndefined();
  expect(journey.left(900_000)).toBeUndefined();
});

test("progress estimate: after a step that took three times as long, the remaining steps are expected to take three times as long", () => {
  const slow = new Journey(plan, measured());
  slow.begin("built", 0);
  expect(slow.left(900_000)).toBe("about 5 minutes left"); // the first step still runs, and the second is to come
  slow.end("built", 900_000);
  expect(slow.left(900_000)).toBe("about 5 minutes left");
});

test("progress estimate: a build that had nothing to do does not shorten the expected time of the next step", () => {
  const journey = new Journey(plan, measured());
  journey.begin("built", 0);
  journey.end("built", 1_000);
  expect(journey.left(1_000)).toBe("about 2 minutes left");
});

test("progress estimate: very short steps do not change the expected speed of the machine", () => {
  const journey = new Journey([{ title: "network", typicalSeconds: 1 }, ...plan], measured());
  journey.begin("network", 0);
  journey.end("network", 20_000);
  expect(journey.left(20_000)).toBe("about 7 minutes left");
});

test("progress estimate: a measured duration replaces the typical one and is updated", () => {
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

test("durations: measured durations persist between processes, and an invalid file counts as empty", () => {
  durationsInCache().note("built", 1234.5);
  expect(durationsInCache().of("built")).toBe(1235);
  writeFileSync(join(cache, "etcd-cluster-operator", "durations.json"), "not JSON");
  expect(durationsInCache().of("built")).toBeUndefined();
});
