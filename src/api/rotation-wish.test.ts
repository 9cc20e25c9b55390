import { expect, test } from "vitest";
import { sidesAsked } from "#api/rotation-wish.ts";

test.each([
  ["peer", ["peer"]],
  ["client", ["client"]],
  ["all", ["peer", "client"]],
  ["all-2", ["peer", "client"]],
  ["client-2027-01-31", ["client"]],
  ["clients", []],
  ["all-", []],
  ["all--", ["peer", "client"]],
  ["-2", []],
  ["", []],
  ["now", []],
  ["toString", []],
  ["constructor-2", []],
  [`all-${"x".repeat(59)}`, ["peer", "client"]],
  [`all-${"x".repeat(60)}`, []],
])("annotation rotate-ca %j requests a rotation of the CAs %j", (words, sides) => {
  expect(sidesAsked(words)).toEqual(sides);
});
