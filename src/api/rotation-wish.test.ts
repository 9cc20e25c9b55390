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
])("by the words %j other authorities are asked for of %j", (words, sides) => {
  expect(sidesAsked(words)).toEqual(sides);
});
