import { expect, test } from "vitest";
import { delayMs, doublingPauseMs } from "./backoff.ts";

const MINUTE = 60_000;
const BOUNDS = { leastMs: 10 * MINUTE, mostMs: 120 * MINUTE };

test.each([
  ["the least pause at first", 0, BOUNDS, 10],
  ["the least pause when a clock runs backwards", -5 * MINUTE, BOUNDS, 10],
  ["the least pause until the attempts have taken as long", 10 * MINUTE, BOUNDS, 10],
  ["as long as all attempts have taken", 11 * MINUTE, BOUNDS, 11],
  ["the longest pause when they have taken as long", 120 * MINUTE, BOUNDS, 120],
  ["at most the longest pause", 121 * MINUTE, BOUNDS, 120],
  ["without a limit when none is given", 9_999 * MINUTE, { leastMs: BOUNDS.leastMs }, 9_999],
])("a doubling pause is %s", (_, soFarMs, bounds, minutes) => {
  expect(doublingPauseMs(soFarMs, bounds)).toBe(minutes * MINUTE);
});

test("a doubling pause of an unknown time is unknown", () => {
  expect(doublingPauseMs(Number.NaN, BOUNDS)).toBeNaN();
});

test.each([
  ["the first delay", 0, 0, 100],
  ["twice as long for each attempt", 3, 0, 800],
  ["at most the longest delay", 9, 0, 1_000],
  ["at most the longest delay after very many attempts", 9_999, 0, 1_000],
  ["shorter by a random share", 0, 0.5, 75],
])("an exponential delay is %s", (_, attempt, random, expected) => {
  expect(delayMs({ firstMs: 100, maxMs: 1_000, factor: 2, jitter: 0.5 }, attempt, random)).toBe(expected);
});
