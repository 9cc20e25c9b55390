import { describe, expect, test } from "vitest";
import { JsonScan } from "#webhooks/json-scan.ts";

const LIMITS = { maxDepth: 3, maxParts: 12 };
const TOO_DEEP = "is nested more than 3 levels deep; it may be nested 3";
const TOO_MANY = "has more than 12 keys and values; it may have 12";

/** The error for a text that arrives in pieces of so many bytes. */
function problemOf(text: string, size = text.length): string | undefined {
  const scan = new JsonScan(LIMITS);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    const why = scan.take(bytes.subarray(at, at + size));
    if (why !== undefined) return why;
  }
  return undefined;
}

describe.each([1, 2, 3, 1_000])("JSON that arrives in pieces of %i bytes", (size) => {
  const cases: readonly [string, string | undefined][] = [
    ["1", undefined],
    ["[[[]]]", undefined],
    ["[[[[", TOO_DEEP],
    ['{"a":[{"b":1}]}', undefined],
    ['{"a":[{"b":[1]}]}', TOO_DEEP],
    ['{"a":{"b":{"c":{}}}}', TOO_DEEP],
    ["[1,2,3,4,5,6,7,8,9,0,1,2]", undefined],
    ["[1,2,3,4,5,6,7,8,9,0,1,2,3]", TOO_MANY],
    ["[[],[],[],[],[],[]]", undefined],
    ["[[],[],[],[],[],[],[]]", TOO_MANY],
    ['{"a":1,"b":2,"c":3,"d":4}', undefined],
    ['{"a":1,"b":2,"c":3,"d":[]}', TOO_MANY],
    ['["a","b","c","d","e","f"]', undefined],
    ['["a","b","c","d","e","f",1]', TOO_MANY],
    ['"[[[[[[[[[[,,,,,,,,,,,,::::::::::::{{{{{{"', undefined],
    ['"\\"[[[[[[[[[[,,,,,,,,,,\\\\"', undefined],
    ['["\\\\",[[[]]]]', TOO_DEEP],
    ["[][][][][][][][][][][][]", undefined],
    ["[][][][][][][][][][][][][]", TOO_MANY],
    ["]]]][[[[[[[", undefined], // the parser ends at the first byte
  ];
  test.each(cases)("is accepted or refused: %s: %s", (text, why) => expect(problemOf(text, size)).toBe(why));
});

test("the scan counts keys and values of JSON", () => {
  const scan = new JsonScan(LIMITS);
  expect(scan.parts).toBe(0);
  scan.take(Buffer.from('{"a":[1,2],'));
  expect(scan.parts).toBe(6);
});
