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
  ["as long as was asked for, or longer: half of the time to renew", 90 * DAY_MS, QUARTER, 15 * DAY_MS],
  ["as long as the CA", 3_650 * DAY_MS, QUARTER, 15 * DAY_MS],
  ["a week without a value in the spec: in proportion", 7 * DAY_MS, QUARTER, 28 * HOUR_MS],
  ["a day, the maximum of the issuer", DAY_MS, { durationMs: 10 * DAY_MS, renewBeforeMs: 5 * DAY_MS }, 6 * HOUR_MS],
  ["as asked for, and renewed early", 10 * DAY_MS, { durationMs: 10 * DAY_MS, renewBeforeMs: 9 * DAY_MS }, 4.5 * DAY_MS],
  ["nothing", 0, QUARTER, -1],
] as const)("a certificate is late in proportion to its lifetime: %s", (_, lifeMs, life, leftMs) => {
  expect(lateFrom(lifeMs, life)).toBe(leftMs);
}); // biome-ignore format: a table

test("an expired certificate is late, however short-lived it was", () => {
  expect(isLate({ notAfterMs: NOW, lifeMs: 0 }, QUARTER, NOW)).toBe(true);
});
