import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { EXCUSES, everyOneIsNoticed } from "../mutation/noticed.ts";

// Each commit tries some of the mutations; here are all of them.

const FILES = readdirSync(new URL("../mutation", import.meta.url)).filter((name) => name.endsWith(".test.ts"));
/** `cluster-1-of-2.test.ts` is about room `cluster`. */
const ROOMS = [...new Set(FILES.map((name) => name.replace(/(-\d+-of-\d+)?\.test\.ts$/, "")))];

test.each(ROOMS)("mutations: a table case of room %s notices every one", { timeout: 3_600_000 }, async (room) => {
  await everyOneIsNoticed(room, { part: 0, of: 1 });
});

test("mutations: every room that has an excuse is tried", () => {
  expect(EXCUSES.map(({ room }) => room).filter((room) => !ROOMS.includes(room))).toEqual([]);
});
