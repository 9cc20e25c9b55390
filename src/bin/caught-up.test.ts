import { expect, test } from "vitest";
import type { Caches } from "./caches.ts";
import { isStartingWith } from "./caught-up.ts";

const read = { clusters: { synced: true }, peers: { synced: true } } as unknown as Caches;
const reading = { clusters: { synced: true }, peers: { synced: false } } as unknown as Caches;

test.each([
  ["one that has no shard, and has just started", [], true, true],
  ["one that has no shard for a while, as it waits for another number of shards", [], false, false],
  ["one that reads a shard's state", [reading], true, true],
  ["one that has come to read another shard's state later", [read, reading], false, true],
  ["one that has read everything, however soon", [read, read], true, false],
])("a process with shards is starting, or not: %s", (_title, caches, isNew, expected) => {
  expect(isStartingWith(caches, isNew)).toBe(expected);
});
