import { expect, test } from "vitest";
import { EXCUSES, everyOneIsNoticed, PART_TIMEOUT_MS } from "./noticed.ts";

test("mutations: a table case of room peer notices every one", { timeout: PART_TIMEOUT_MS }, async () => {
  await everyOneIsNoticed("peer", { part: 0, of: 1 });
});

test("mutations: every excuse says why, once", () => {
  const names = EXCUSES.map(({ room, mutation }) => `${room} ${mutation}`);
  expect(names).toEqual([...new Set(names)]);
  expect(EXCUSES.filter(({ because }) => because.split(" ").length < 4)).toEqual([]);
});
