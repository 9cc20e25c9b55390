import { expect, test } from "vitest";
import { between, histogramOf, quantile } from "./histogram.ts";

const sample = (le: string, value: number) => ({ name: "x_bucket", labels: new Map([["le", le]]), value });
/** A histogram with the bounds 1, 2 and 4, by the cumulative counts of its buckets. */
const of = (...counts: readonly number[]) =>
  histogramOf(["1", "2", "4", "+Inf"].map((le, n) => sample(le, counts[n]!)))!;

test("buckets are sorted, and a count below that of a smaller bucket is raised", () => {
  const samples = [sample("+Inf", 9), sample("4", 3), sample("0.5", 5)];
  expect(histogramOf(samples)).toEqual({
    buckets: [
      { bound: 0.5, count: 5 },
      { bound: 4, count: 5 },
      { bound: Number.POSITIVE_INFINITY, count: 9 },
    ],
    count: 9,
  });
});

test.each([
  ["no bucket", []],
  ["no infinite bucket", [sample("1", 1), sample("2", 1)]],
  ["no finite bucket", [sample("+Inf", 1)]],
  ["a bound that is no number", [sample("x", 1), sample("+Inf", 1)]],
  ["a bound that is NaN", [sample("NaN", 1), sample("+Inf", 1)]],
  ["a negative bound", [sample("-1", 1), sample("+Inf", 1)]],
  ["a bound beyond any time", [sample("1e300", 1), sample("+Inf", 1)]],
  [
    "the infinite bucket beyond the limit",
    [...Array.from({ length: 64 }, (_, n) => sample(`${n}`, 1)), sample("+Inf", 1)],
  ],
])("with %s there is no histogram", (_, samples) => {
  expect(histogramOf(samples)).toBeUndefined();
});

test.each<[string, number[], number, object | undefined]>([
  ["no observation", [0, 0, 0, 0], 0.99, undefined],
  ["all in the first bucket", [100, 100, 100, 100], 0.99, { value: 0.99, isAbove: false }],
  ["half in the second bucket", [50, 100, 100, 100], 0.75, { value: 1.5, isAbove: false }],
  ["the rank at the end of a bucket", [50, 100, 100, 100], 0.5, { value: 1, isAbove: false }],
  ["an empty bucket in between", [50, 50, 100, 100], 0.99, { value: 2 + 2 * 0.98, isAbove: false }],
  ["the rank beyond the last bound", [0, 0, 98, 100], 0.99, { value: 4, isAbove: true }],
  ["the rank just within the last bound", [0, 0, 99, 100], 0.99, { value: 4, isAbove: false }],
])("quantile with %s", (_, counts, share, expected) => {
  expect(quantile(of(...counts), share)).toEqual(expected);
});

test("between two readings there is what was added", () => {
  expect(between(of(1, 2, 3, 4), of(1, 4, 6, 8))).toEqual(of(0, 2, 3, 4));
  expect(between(of(1, 2, 3, 4), of(1, 2, 3, 4))).toMatchObject({ count: 0 });
});

test.each([
  ["a smaller count", of(5, 5, 5, 5), of(1, 1, 1, 1)],
  ["a smaller count of one bucket", of(1, 5, 5, 5), of(2, 4, 6, 6)],
  ["more added to a smaller bucket", of(0, 3, 3, 3), of(3, 4, 4, 4)],
  ["other bounds", histogramOf([sample("1", 0), sample("3", 0), sample("4", 0), sample("+Inf", 0)])!, of(1, 1, 1, 1)],
  ["fewer buckets", histogramOf([sample("1", 0), sample("+Inf", 0)])!, of(1, 1, 1, 1)],
  ["more buckets", of(0, 0, 0, 0), histogramOf([sample("1", 1), sample("+Inf", 1)])!],
])("with %s there is no difference", (_, before, after) => {
  expect(between(before, after)).toBeUndefined();
});
