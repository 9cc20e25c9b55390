import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { EXCUSES, everyOneIsNoticed } from "../mutation/noticed.ts";

// Each commit runs some of the mutations; this file runs all of them.

const FILES = readdirSync(new URL("../mutation", import.meta.url)).filter((name) => name.endsWith(".test.ts"));
/** Package names: `cluster-1-of-2.test.ts` is about package `cluster`. */
const PACKAGES = [...new Set(FILES.map((name) => name.replace(/(-\d+-of-\d+)?\.test\.ts$/, "")))];

test.each(PACKAGES)(
  "mutations: every mutation of package %s fails a table test or is excused",
  { timeout: 3_600_000 },
  async (name) => {
    await everyOneIsNoticed(name, { part: 0, of: 1 });
  },
);

test("mutations: every package with an excused mutation is tested", () => {
  expect(EXCUSES.map(({ package: name }) => name).filter((name) => !PACKAGES.includes(name))).toEqual([]);
});
