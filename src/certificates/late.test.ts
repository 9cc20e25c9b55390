import { expect, test } from "vitest";
import { isLate } from "#certificates/late.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = 1_000 * DAY_MS;
const QUARTER = { durationMs: 90 * DAY_MS, renewBeforeMs: 30 * DAY_MS };

/** Largest remaining time with which it counts as late, in milliseconds. */
function lateFrom(lifeMs: number, life = QUARTER): number {
  const late = (leftMs: number) => isLate({ notAfterMs: NOW + leftMs, lifeMs }, life, NOW);
  let [no, yes] = [lifeMs, -1];
  while (no - yes > 1) {
    const leftMs = Math.floor((no + yes) / 2);
    if (late(leftMs)) yes = leftMs;
    else no = leftMs;
  }
  return yes;
}

test.each([
  ["when half of renewBefore is left, with the requested lifetime", 90 * DAY_MS, QUARTER, 15 * DAY_MS],
  ["when half of renewBefore is left, with a lifetime of ten years", 3_650 * DAY_MS, QUARTER, 15 * DAY_MS],
  ["when a sixth of a lifetime of a week is left", 7 * DAY_MS, QUARTER, 28 * HOUR_MS],
  ["when a quarter of a lifetime of a day is left, with renewBefore half of the duration", DAY_MS, { durationMs: 10 * DAY_MS, renewBeforeMs: 5 * DAY_MS }, 6 * HOUR_MS],
  ["when 45 % of the lifetime is left, with renewBefore 90 % of the duration", 10 * DAY_MS, { durationMs: 10 * DAY_MS, renewBeforeMs: 9 * DAY_MS }, 4.5 * DAY_MS],
  ["when it has expired, with a lifetime of zero", 0, QUARTER, -1],
] as const)("the renewal of a certificate is late %s", (_, lifeMs, life, leftMs) => {
  expect(lateFrom(lifeMs, life)).toBe(leftMs);
}); // biome-ignore format: a table

test("an expired certificate with a lifetime of zero is late", () => {
  expect(isLate({ notAfterMs: NOW, lifeMs: 0 }, QUARTER, NOW)).toBe(true);
});
