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
  ["at once", 5_000, ["a"]],
  ["until half a minute is over", 34_999, ["a"]],
  ["not after that", 35_000, []],
])("a process that gives a shard back is skipped: %s", (_title, nowMs, expected) => {
  expect(out(after([1_000, ["a", "b"]], [5_000, [NOBODY, "b"]]), nowMs)).toEqual(expected);
});

test.each<[string, Takers, string[]]>([
  ["not a holder", after([1_000, ["a", "b"]], [5_000, ["a", "b"]]), []],
  ["no process for a shard that was free at the first read", after([1_000, [NOBODY, "b"]]), []],
  ["not a process that lost it to another process", after([1_000, ["a", "b"]], [5_000, ["b", "b"]]), []],
  ["not a process that takes it back", after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, ["a"]]), []],
  ["not a process that takes another shard", after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, [NOBODY, "a"]]), []],
  [
    "a process that gives back and takes at the same read",
    after([1_000, ["a", NOBODY]], [5_000, [NOBODY, "a"]]),
    ["a"],
  ],
  ["a process after its former shard is taken", after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, ["b"]]), ["a"]],
])("processes that are skipped because of the leases: %s", (_title, takers, expected) => {
  expect(out(takers, 7_000)).toEqual(expected);
});

test.each<[string, Takers, number, string[]]>([
  ["not before its time is over", after([1_000, [], ["a"]], [10_999, [], ["a"]]), 10_999, []],
  ["when its time is over", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 11_000, ["a"]],
  ["until ten minutes later", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 610_999, ["a"]],
  ["not after that", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 611_000, []],
  ["not one that is assigned a shard later", after([1_000, [], ["a"]], [11_000, [], ["a", "b"]]), 11_000, ["a"]],
  [
    "not one that was assigned nothing in between",
    after([1_000, [], ["a"]], [9_000, []], [11_000, [], ["a"]]),
    11_000,
    [],
  ],
  [
    "not one that has taken a shard in between",
    after([1_000, [], ["a"]], [9_000, ["a"], ["a"]], [12_000, ["a"], ["a"]]),
    12_000,
    [],
  ],
  ["not one that takes a shard after all", after([1_000, [], ["a"]], [11_000, [], ["a"]], [12_000, ["a"]]), 12_000, []],
  [
    "whatever another process takes in between",
    after([1_000, [], ["a"]], [9_000, ["b"], ["a"]], [11_000, ["b"], ["a"]]),
    11_000,
    ["a"],
  ],
  [
    "for no shorter time when it gives a shard back then",
    after([1_000, ["a"], ["a"]], [11_000, ["a"], ["a"]], [12_000, [NOBODY]]),
    600_000,
    ["a"],
  ],
])("a process that does not take its assigned shard is skipped: %s", (_title, takers, nowMs, expected) => {
  expect(out(takers, nowMs)).toEqual(expected);
});
