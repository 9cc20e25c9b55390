import { expect, test } from "vitest";
import { leftOut, NO_TAKERS, seenGiven, seenHolders, type Takers } from "./takers.ts";

type Look = readonly [atMs: number, holders: readonly (string | undefined)[], given?: readonly string[]];

/** Looks one after the other, each with the holders of shards and those that are given something then. */
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
  ["and not longer", 35_000, []],
])("who gives something back is left out: %s", (_title, nowMs, expected) => {
  expect(out(after([1_000, ["a", "b"]], [5_000, [NOBODY, "b"]]), nowMs)).toEqual(expected);
});

test.each<[string, Takers, string[]]>([
  ["who holds something is not", after([1_000, ["a", "b"]], [5_000, ["a", "b"]]), []],
  ["of what was free when it was first looked at nobody is", after([1_000, [NOBODY, "b"]]), []],
  ["who has lost it to another one is not", after([1_000, ["a", "b"]], [5_000, ["b", "b"]]), []],
  ["who takes what it gave back is not", after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, ["a"]]), []],
  ["who takes something else is not", after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, [NOBODY, "a"]]), []],
  ["who gives back at the look at which it takes is", after([1_000, ["a", NOBODY]], [5_000, [NOBODY, "a"]]), ["a"]],
  ["whose shard another one takes still is", after([1_000, ["a"]], [5_000, [NOBODY]], [6_000, ["b"]]), ["a"]],
])("who is left out by what leases show: %s", (_title, takers, expected) => {
  expect(out(takers, 7_000)).toEqual(expected);
});

test.each<[string, Takers, number, string[]]>([
  ["not before its time is over", after([1_000, [], ["a"]], [10_999, [], ["a"]]), 10_999, []],
  ["when its time is over", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 11_000, ["a"]],
  ["until ten minutes later", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 610_999, ["a"]],
  ["and not longer", after([1_000, [], ["a"]], [11_000, [], ["a"]]), 611_000, []],
  ["not who is given something later", after([1_000, [], ["a"]], [11_000, [], ["a", "b"]]), 11_000, ["a"]],
  ["not who was given nothing for a while", after([1_000, [], ["a"]], [9_000, []], [11_000, [], ["a"]]), 11_000, []],
  [
    "not who has taken something meanwhile",
    after([1_000, [], ["a"]], [9_000, ["a"], ["a"]], [12_000, ["a"], ["a"]]),
    12_000,
    [],
  ],
  ["not who takes something after all", after([1_000, [], ["a"]], [11_000, [], ["a"]], [12_000, ["a"]]), 12_000, []],
  [
    "whatever another one takes meanwhile",
    after([1_000, [], ["a"]], [9_000, ["b"], ["a"]], [11_000, ["b"], ["a"]]),
    11_000,
    ["a"],
  ],
  [
    "no shorter when it gives something back then",
    after([1_000, ["a"], ["a"]], [11_000, ["a"], ["a"]], [12_000, [NOBODY]]),
    600_000,
    ["a"],
  ],
])("who is given something and does not take it is left out: %s", (_title, takers, nowMs, expected) => {
  expect(out(takers, nowMs)).toEqual(expected);
});
