import { expect, test } from "vitest";
import { admissionReview, limitedRefusals, NO_FINDINGS } from "#webhooks/admission-review.ts";

test("the first twenty refusals are listed, with the number of further errors", () => {
  const refusals = Array.from({ length: 23 }, (_, n) => ({ field: `spec.f${n}`, message: "is wrong" }));
  const limited = limitedRefusals(refusals);
  expect(limited).toHaveLength(21);
  expect(limited[19]).toEqual({ field: "spec.f19", message: "is wrong" });
  expect(limited[20]).toEqual({ field: "spec", message: "has 3 more errors; correct those above to see them" });
  expect(limitedRefusals(refusals.slice(0, 20))).toEqual(refusals.slice(0, 20));
});

test("a message that repeats a long value is truncated", () => {
  const [limited] = limitedRefusals([{ field: "spec.version", message: `is ${"x".repeat(1_000_000)}` }]);
  expect(limited?.message).toHaveLength(2_000);
  expect(limited?.message.endsWith("x…")).toBe(true);
  const short = { field: "spec.version", message: "x".repeat(2_000) };
  expect(limitedRefusals([short])).toEqual([short]);
});

test("the first twenty warnings are listed", () => {
  const warnings = Array.from({ length: 30 }, (_, n) => `sentence ${n}`);
  const { response } = admissionReview("1", undefined, { ...NO_FINDINGS, warnings }) as {
    response: { warnings: readonly string[] };
  };
  expect(response.warnings).toEqual(warnings.slice(0, 20));
});
