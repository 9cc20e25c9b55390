import fc from "fast-check";
import { expect, test } from "vitest";
import { billionthsOf } from "#api/quantity.ts";

const same: readonly (readonly (string | number)[])[] = [
  ["1", 1, "1000m", "1.0", "1.", "+1", "1e0", "1E0", "1000000u", "1000000000n", "0.001k", "01"],
  ["0", 0, "0m", "0Gi", "-0", "0e9"],
  ["0.5", ".5", "500m", "5e-1"],
  ["1Ki", "1024", 1_024],
  ["1Mi", "1024Ki"],
  ["1Gi", "1024Mi", "1073741824"],
  ["1.5Gi", "1536Mi"],
  ["1Ti", "1024Gi"],
  ["1Pi", "1024Ti"],
  ["1Ei", "1024Pi"],
  ["1k", "1000", "1e3", "1E3", "1e+3"],
  ["1M", "1000k", "1e6"],
  ["1G", "1000M"],
  ["1T", "1000G"],
  ["1P", "1000T"],
  ["1E", "1000P", "1e18"],
  ["-1", -1, "-1000m"],
];

test.each(same.map((amounts) => ({ amounts })))("quantity: $amounts are the same amount", ({ amounts }) => {
  expect(new Set(amounts.map(billionthsOf)).size).toBe(1);
  expect(billionthsOf(amounts[0]!)).toBeTypeOf("bigint");
});

test("quantity: amounts of different groups differ", () => {
  expect(new Set(same.map(([first]) => billionthsOf(first!))).size).toBe(same.length);
});

test("quantity: amounts are read in billionths, and finer amounts are rounded away from zero", () => {
  expect(billionthsOf("1")).toBe(1_000_000_000n);
  expect(billionthsOf("1n")).toBe(1n);
  expect(billionthsOf("0.1n")).toBe(1n);
  expect(billionthsOf("1.1n")).toBe(2n);
  expect(billionthsOf("-0.1n")).toBe(-1n);
  expect(billionthsOf("1.0000000001")).toBe(1_000_000_001n);
});

test.each(["", ".", "+", "Gi", "1gi", "1K", "1 Gi", " 1", "1Gi ", "1e", "1e3m", "1m1", "0x10", "one", "1e31", "1e-31"])(
  "quantity: %j is invalid",
  (text) => {
    expect(billionthsOf(text)).toBeUndefined();
  },
);

test("quantity: the largest and smallest valid exponents are accepted", () => {
  expect(billionthsOf("1e30")).toBe(10n ** 39n);
  expect(billionthsOf("1e-30")).toBe(1n);
});

test("quantity: n thousand thousandths equal n", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), (n) => {
      expect(billionthsOf(`${n}000m`)).toBe(billionthsOf(n));
    }),
  );
});

test("quantity: any text is either an amount or invalid", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[+-]?[0-9.]{0,12}[numkKMGTPEie+-]{0,4}[0-9]{0,4}$/), (text) => {
      expect(["bigint", "undefined"]).toContain(typeof billionthsOf(text));
    }),
  );
});

test("quantity: a text of more than 64 characters is invalid", () => {
  expect(billionthsOf(`${"0".repeat(63)}1`)).toBe(1_000_000_000n);
  expect(billionthsOf(`${"0".repeat(64)}1`)).toBeUndefined();
});
