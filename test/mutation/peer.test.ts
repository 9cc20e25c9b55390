import { expect, test } from "vitest";
import { EXCUSES, everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

test("mutations: every mutation of package peer fails a table test or is excused", {
  timeout: PART_TIMEOUT_MS,
}, async () => {
  await everyOneIsNoticed("peer", { part: 0, of: 1 });
});

test("mutations: every excused mutation has a reason and is listed once", () => {
  const names = EXCUSES.map(({ package: name, mutation }) => `${name} ${mutation}`);
  expect(names).toEqual([...new Set(names)]);
  expect(EXCUSES.filter(({ because }) => because.split(" ").length < 4)).toEqual([]);
});
