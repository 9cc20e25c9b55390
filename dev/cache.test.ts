import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { keepNewest } from "./cache.ts";

const folder = mkdtempSync(join(tmpdir(), "cache-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("cache: cleaning one prefix keeps its newest files and all files with other prefixes", () => {
  for (const [name, seconds] of Object.entries({ "a-1": 30, "a-2": 10, "a-3": 20, "b-1": 1 })) {
    writeFileSync(join(folder, name), "");
    utimesSync(join(folder, name), seconds, seconds);
  }
  keepNewest(folder, "a-", 2);
  expect(readdirSync(folder).sort()).toEqual(["a-1", "a-3", "b-1"]);
});
