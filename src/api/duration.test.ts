import { expect, test } from "vitest";
import { millisecondsOf } from "#api/duration.ts";

const cases: readonly (readonly [string, number | undefined])[] = [
  ["0s", 0],
  ["100ms", 100],
  ["1s", 1_000],
  ["5m", 300_000],
  ["24h", 86_400_000],
  ["1h30m", 5_400_000],
  ["1.5h", 5_400_000],
  ["1m0.5s", 60_500],
  ["", undefined],
  ["5", undefined],
  ["1d", undefined],
  ["-1s", undefined],
  ["1s ", undefined],
  ["s", undefined],
  ["10us", undefined],
];
test.each(cases)("the duration %j is %j milliseconds", (text, ms) => expect(millisecondsOf(text)).toBe(ms));
