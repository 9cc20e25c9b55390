import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LEVELS } from "./levels.ts";
import { filesIn, levelsIn } from "./share.ts";

const ROOT = join(import.meta.dirname, "..");

test("shares: every file of a level is in the first share or in the rest", () => {
  for (const level of LEVELS) {
    const [first, rest] = [filesIn(ROOT, level, "first"), filesIn(ROOT, level, "rest")];
    if (first?.length === 0 || rest?.length === 0) continue; // a whole level
    const [example = ""] = first ?? rest ?? [];
    const folder = example.split("/").slice(0, 2).join("/");
    const files = globSync(`${folder}/**/*.test.ts`, { cwd: ROOT }).sort();
    expect([...new Set([...(first ?? []), ...(rest ?? [])])].sort(), level).toEqual(files);
  }
});

test("shares: the files of the first share exist", () => {
  expect(filesIn(ROOT, "e2e", "first")).toHaveLength(5);
  expect(filesIn(ROOT, "simulation", "first")).toHaveLength(1);
});

test("shares: a filter matches one file only, because vitest searches for it in each path", () => {
  for (const [level, folder] of [
    ["e2e", "test/e2e"],
    ["simulation", "test/simulation"],
  ] as const) {
    const files = globSync(`${folder}/**/*.test.ts`, { cwd: ROOT });
    for (const filter of filesIn(ROOT, level, "first") ?? [])
      expect(files.filter((file) => file.includes(filter))).toEqual([filter]);
  }
});

test("shares: the first share has every level except mutants; the rest has the slow levels", () => {
  expect(levelsIn(ROOT, "first")).toEqual(LEVELS.filter((level) => level !== "mutants"));
  expect(levelsIn(ROOT, "rest")).toEqual(["simulation", "mutants", "e2e"]);
  for (const share of ["first", "rest"] as const)
    expect(filesIn(ROOT, "e2e", share)).toContain("test/e2e/rights.test.ts");
});
