import { expect, test } from "vitest";
import { keysWithPrefix, oneKey } from "./auth.ts";

const ALL = [[0], [0]];

test.each<{ name: string; prefix: string | Uint8Array; range: readonly (readonly number[])[] }>([
  {
    name: "a text",
    prefix: "ab",
    range: [
      [97, 98],
      [97, 99],
    ],
  },
  {
    name: "a text in UTF-8",
    prefix: "é",
    range: [
      [0xc3, 0xa9],
      [0xc3, 0xaa],
    ],
  },
  { name: "an empty prefix", prefix: "", range: ALL },
  { name: "a text that ends with byte 0xff", prefix: new Uint8Array([97, 0xff]), range: [[97, 0xff], [98]] },
  { name: "only bytes 0xff", prefix: new Uint8Array([0xff, 0xff]), range: [[0xff, 0xff], [0]] },
])("the range of keys with a prefix: $name", ({ prefix, range }) => {
  const { key, rangeEnd } = keysWithPrefix(prefix);
  expect([[...key], [...rangeEnd]]).toEqual(range);
});

test("a permission for one key has no range end", () => {
  expect(oneKey("a")).toEqual({ key: new Uint8Array([97]), rangeEnd: new Uint8Array() });
});
