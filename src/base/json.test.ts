import { expect, test } from "vitest";
import { mapInText } from "#base/json.ts";

test("only a text with a JSON object is parsed", () => {
  expect(mapInText('{"a":1}')).toEqual({ a: 1 });
  for (const other of ["[1]", "1", "null", "{", "", undefined, 5, { a: 1 }]) expect(mapInText(other)).toBeUndefined();
});

test("a text that is longer than annotations may be is not parsed", () => {
  const text = (length: number): string => `{"a":"${"x".repeat(length - 8)}"}`;
  expect(text(20)).toHaveLength(20);
  expect(mapInText(text(256 * 1024))).toBeDefined();
  expect(mapInText(text(256 * 1024 + 1))).toBeUndefined();
});
