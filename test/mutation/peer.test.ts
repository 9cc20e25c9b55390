import { expect, test } from "vitest";
import { EXCUSES, everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

test("mutations: table cases of package peer notice every mutation", { timeout: PART_TIMEOUT_MS }, async () => {
  await everyOneIsNoticed("peer", { part: 0, of: 1 });
});

test("mutations: every excuse has a reason and occurs once", () => {
  const names = EXCUSES.map(({ package: name, mutation }) => `${name} ${mutation}`);
  expect(names).toEqual([...new Set(names)]);
  expect(EXCUSES.filter(({ because }) => because.split(" ").length < 4)).toEqual([]);
});
