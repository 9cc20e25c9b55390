import { expect, test } from "vitest";
import { missedIn, type WatchedWrite } from "#kit/tables/watched-keys.ts";

const write = (key: string, version: number, revision: number): WatchedWrite => ({
  key,
  value: `${revision}`,
  version,
  revision,
});
const ALL = [write("a", 1, 2), write("b", 1, 3), write("a", 2, 7), write("a", 3, 8)];
const FOUND = new Map([
  ["a", 3],
  ["b", 1],
]);

const cases: readonly (readonly [string, readonly WatchedWrite[], readonly string[]])[] = [
  ["all writes in order", ALL, []],
  ["a write missing in between", ALL.toSpliced(2, 1), ["version 3 of a was reported after version 1"]],
  ["the first write missing", ALL.slice(1), ["version 2 of a was reported after version 0"]],
  ["the last write missing", ALL.slice(0, -1), ["a is at version 3, and 2 was reported"]],
  ["a whole key missing", ALL.toSpliced(1, 1), ["b is at version 1, and 0 was reported"]],
  [
    "one write repeated",
    [...ALL, write("a", 3, 8)],
    ["version 3 of a was reported after version 3", "revision 8 was reported after revision 8"],
  ],
];

test.each(cases)("the check of a watch reports the expected problems for %s", (_, told, missed) => {
  expect(missedIn(told, FOUND)).toEqual(missed);
});
