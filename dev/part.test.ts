import { expect, test } from "vitest";
import { ALL_HISTORIES, HISTORIES, partOf } from "./part.ts";

/** A commit's hash with these numbers in the digits that choose histories and mutations. */
function commit(histories: number, mutations: number): string {
  const digits = (number: number) => number.toString(16).padStart(8, "0");
  return `ffffffff${digits(histories)}${digits(mutations)}`.padEnd(40, "f");
}

test("part: the commit's hash selects histories and mutations independently", () => {
  expect(partOf(commit(0, 0))).toEqual({ firstSeed: 1, mutations: "1/6" });
  expect(partOf(commit(1, 0))).toEqual({ firstSeed: 251, mutations: "1/6" });
  expect(partOf(commit(0, 9))).toEqual({ firstSeed: 1, mutations: "4/6" });
});

test("part: the parts of all commits together are exactly the histories of the long tests", () => {
  const firsts = Array.from({ length: 100 }, (_, number) => partOf(commit(number, 0)).firstSeed);
  const seeds = new Set(firsts.flatMap((first) => Array.from({ length: HISTORIES }, (_, n) => first + n)));
  expect([seeds.size, Math.min(...seeds), Math.max(...seeds)]).toEqual([ALL_HISTORIES, 1, ALL_HISTORIES]);
});
