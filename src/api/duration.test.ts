import { expect, test } from "vitest";
import { millisecondsOf, spanMsOf } from "#api/duration.ts";

const cases: readonly (readonly [string, number | undefined])[] = [
  ["0s", 0],
  ["100ms", 100],
  ["1s", 1_000],
  ["5m", 300_000],
  ["24h", 86_400_000],
  ["1h30m", 5_400_000],
  ["1.5h", 5_400_000],
  ["1m0.5s", 60_500],
  ["32.316s", 32_316],
  ["0.000001ms", 0.000001],
  ["", undefined],
  ["5", undefined],
  ["1d", undefined],
  ["-1s", undefined],
  ["1s ", undefined],
  ["s", undefined],
  ["10us", undefined],
];
test.each(cases)("the duration %j is %j milliseconds", (text, ms) => expect(millisecondsOf(text)).toBe(ms));

const spans: readonly (readonly [string, number | undefined])[] = [
  ["10s", 10_000],
  ["90m", 5_400_000],
  ["168h", 604_800_000],
  ["7d", 604_800_000],
  ["1w12h", 648_000_000],
  ["2w3d4h5m6s", 1_483_506_000],
  ["", undefined],
  ["7", undefined],
  ["d", undefined],
  ["1.5d", undefined],
  ["1y", undefined],
  ["-1d", undefined],
  ["100ms", undefined],
  ["1d ", undefined],
];
test.each(spans)("the span %j is %j milliseconds", (text, ms) => expect(spanMsOf(text)).toBe(ms));
