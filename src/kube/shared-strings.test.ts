import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nested } from "#kit/tables/nested.ts";
import { SharedStrings } from "./shared-strings.ts";

describe("shared strings", () => {
  test("leave every value unchanged", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (values) => {
        const strings = new SharedStrings(3);
        for (const value of values) expect(strings.within(structuredClone(value))).toEqual(value);
      }),
    );
  });

  test("return the same object", () => {
    const object = { metadata: { name: "a", labels: { app: "etcd" } }, list: ["x", null, 1, true] };
    expect(new SharedStrings().within(object)).toBe(object);
  });

  test("leave frozen objects unchanged", () => {
    const object = { part: Object.freeze({ name: "a" }), name: "b" };
    expect(new SharedStrings().within(object)).toEqual({ part: { name: "a" }, name: "b" });
    expect(new SharedStrings().within(Object.freeze({ name: "a" }))).toEqual({ name: "a" });
  });

  test("cover the first thirty-two levels of nesting", () => {
    const known = (levels: number) => {
      const strings = new SharedStrings();
      strings.within(nested(levels, "text"));
      return strings.size;
    };
    expect([known(32), known(33), known(9_900)]).toEqual([1, 0, 0]);
  });

  test("are kept once each for two generations", () => {
    const strings = new SharedStrings(10);
    for (let n = 0; n < 1_000; n++) strings.within({ often: "etcd", once: `name-${n}` });
    expect(strings.size).toBeLessThanOrEqual(20);
    const few = new SharedStrings(10);
    for (let n = 0; n < 5; n++) few.within(["a", "b", "x".repeat(257)]);
    expect(few.size).toBe(2);
  });
});
