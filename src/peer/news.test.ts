import { expect, test } from "vitest";
import { isInPassing } from "#peer/news.ts";

test.each([
  ["that is the same", "a", "a", true],
  ["that is told for the first time", undefined, "a", true],
  ["that is not known for now", "a", undefined, false],
  ["that nobody knows yet", undefined, undefined, true],
  ["that has become another one", "a", "b", false],
])("news: a status with a revision %s", (_, before, after, expected) => {
  const status = (revision: string | undefined) => (revision === undefined ? {} : { revision });
  expect(isInPassing(status(before), status(after))).toBe(expected);
});
