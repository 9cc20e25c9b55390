import { expect, test } from "vitest";
import { leftOut, NO_TAKERS, seenGiven, seenHolders, type Takers } from "./takers.ts";

type Look = readonly [atMs: number, holders: readonly (string | undefined)[], given?: readonly string[]];

/** Several reads, each with the holders of shards and the processes that are assigned one then. */
function after(...looks: readonly Look[]): Takers {
  return looks.reduce(
    (before, [atMs, holders, given = []]) => seenGiven(seenHolders(before, holders, atMs), new Set(given), atMs),
    NO_TAKERS,
  );
}

const out = (takers: Takers, nowMs: number): readonly string[] => [...leftOut(takers, nowMs)];
const NOBODY = undefined;

test.each([
  ["is assigned no shard immediately afterwards", 5_000, ["a"]],
  ["is assigned no shard for 30 s", 34_999, ["a"]],
  ["may be assigned a shard after 30 s", 35_000, []],
])("a process that gave a shard back %s", (_title, nowMs, expected) => {
  expect(out(after([1_000, ["a", "b"]], [5_000, [NOBODY, "b"]]), nowMs)).toEqual(expected);
});

test.each<[string, Takers, string[]]>([
  ["a process that keeps its shard may", after([1_000, ["a", "b"]], [5_000, ["a", "b"]]), []],
  ["any process may when a shard was free at the first read", after([1_000, [NOBODY, "b"]]), []],
  ["a process that lost its shard to another process may", after([1_000, ["a", "b"]], [5_000, ["b", "b"]]), []],
  ["a process that took its shard back may", after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, ["a"]]), []],
  ["a process that took another shard may", after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, [NOBODY, "a"]]), []],
  [
    "a process that gave a shard back and took another at the same read may not",
    after([1_000, ["a", NOBODY]], [5_000, [NOBODY, "a"]]),
    ["a"],
  ],
  [
    "a process that gave back a shard may not, even when another process has taken it",
    after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, ["b"]]),
    ["a"],
  ],
])("whether a process may be assigned shards: %s", (_title, takers, expected) => {
  expect(out(takers, 7_000)).toEqual(expected);
});

test.each<[string, Takers, number, string[]]>([
  ["may be assigned shards for 10 s", after([1_000, [], ["a"]], [10_999, [], ["a"]]), 10_999, []],
  ["is assigned none after 10 s", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 11_000, ["a"]],
  ["is assigned none for 10 minutes", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 610_999, ["a"]],
  ["may be assigned shards after 10 minutes", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 611_000, []],
  [
    "is assigned none, but a process with a later assignment may be",
    after([1_000, [], ["a"]], [11_000, [], ["a", "b"]]),
    11_000,
    ["a"],
  ],
  [
    "may be assigned shards if it had no assignment in between",
    after([1_000, [], ["a"]], [9_000, []], [11_000, [], ["a"]]),
    11_000,
    [],
  ],
  [
    "may be assigned shards if it took one in between",
    after([1_000, [], ["a"]], [9_000, ["a"], ["a"]], [12_000, ["a"], ["a"]]),
    12_000,
    [],
  ],
  [
    "may be assigned shards once it takes one",
    after([1_000, [], ["a"]], [11_000, [], ["a"]], [12_000, ["a"]]),
    12_000,
    [],
  ],
  [
    "is assigned none, whatever another process takes in between",
    after([1_000, [], ["a"]], [9_000, ["b"], ["a"]], [11_000, ["b"], ["a"]]),
    11_000,
    ["a"],
  ],
  [
    "is assigned none for 10 minutes even if it gives a shard back then",
    after([1_000, ["a"], ["a"]], [11_000, ["a"], ["a"]], [12_000, [NOBODY]]),
    600_000,
    ["a"],
  ],
])("a process that does not take its assigned shard %s", (_title, takers, nowMs, expected) => {
  expect(out(takers, nowMs)).toEqual(expected);
});
